"""What the command line asks for, checked: one value that everything else reads.

One idea: a combination that cannot be run is told before anything is read or sent, with the option that is wrong.
"""

from math import isfinite
from pathlib import Path
from typing import Literal

import msgspec

from gateway.bench.loops import Warmup
from gateway.bench.plan import Interleave
from gateway.bench.slo import Slo, parse_slos, seconds_of
from prefix.errors import ConfigError

Arrival = Literal["poisson", "gamma", "trace", "closed"]
Isolation = Literal["prompts", "salt", "none"]

PAIRS = 12
"""Windows of each side, where no --window is given: enough for a verdict."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `prefixgate bench`, by their names. None: not given."""

    url: str
    trace: Path | None
    prompts: Path | None
    api: str | None
    model: str | None
    arrival: Arrival | None
    rate: float | None
    shape: float
    concurrency: int | None
    requests: int | None
    duration: str | None
    warmup: str
    slo: str
    compare: str | None
    interleave: Interleave
    window: str | None
    isolation: Isolation | None
    seed: int | None
    block_tokens: int | None
    shrink: int
    ignore_eos: bool
    key_env: str | None
    admin_key_env: str | None
    header: tuple[str, ...]
    engine: tuple[str, ...]
    timeout: str
    json: Path | None
    html: Path | None

    def check(self) -> None:
        """Raises ConfigError."""
        if (self.trace is None) == (self.prompts is None):
            raise ConfigError("give either --trace (a trace or captures) or --prompts (a file of bodies)")
        if self.rate is not None and not (isfinite(self.rate) and self.rate > 0):
            raise ConfigError(f"--rate must be a positive number, not {self.rate:g}")
        if not (isfinite(self.shape) and self.shape > 0):
            raise ConfigError(f"--shape must be a positive number, not {self.shape:g}")
        counts = {"requests": self.requests, "concurrency": self.concurrency, "shrink": self.shrink}
        for name, count in (counts | {"block-tokens": self.block_tokens}).items():
            if count is not None and count < 1:
                raise ConfigError(f"--{name} must be 1 or more, not {count}")
        self._check_arrival()
        for path in (self.json, self.html):
            if path is not None and str(path) != "-" and not path.parent.is_dir():
                raise ConfigError(f"{path}: no such folder")

    def _check_arrival(self) -> None:
        arrival = self.how
        if arrival in ("poisson", "gamma") and self.rate is None:
            raise ConfigError(f"--arrival {arrival} needs --rate R, requests a second")
        if arrival == "closed" and self.concurrency is None:
            raise ConfigError("--arrival closed needs --concurrency C, requests at a time")
        if arrival == "closed" and self.rate is not None:
            raise ConfigError("--rate and --concurrency exclude each other: a closed loop has no rate of its own")
        if arrival != "closed" and self.concurrency is not None:
            raise ConfigError(f"--concurrency is for --arrival closed: in an open loop ({arrival}) nobody waits")
        if arrival == "trace" and self.prompts is not None:
            raise ConfigError("bodies have no times: give --rate R (open loop) or --concurrency C (closed loop)")

    @property
    def how(self) -> Arrival:
        """How requests arrive, also where nobody said it."""
        if self.arrival is not None:
            return self.arrival
        if self.concurrency is not None:
            return "closed"
        return "poisson" if self.prompts is not None and self.rate is not None else "trace"

    @property
    def in_words(self) -> str:
        """How requests arrive, for reports."""
        rate = self.rate or 1.0
        return {
            "poisson": f"open loop, Poisson, {rate:g} requests/s",
            "gamma": f"open loop, gamma bursts of shape {self.shape:g}, {rate:g} requests/s",
            "trace": f"open loop, the source's own times, {rate:g} times as fast",
            "closed": f"closed loop, {self.concurrency} requests at a time",
        }[self.how]

    def seconds(self, name: Literal["duration", "window", "timeout"]) -> float | None:
        """An option that is a time. Raises ConfigError."""
        text: str | None = getattr(self, name)
        if text is None:
            return None
        if (seconds := seconds_of(text)) is None:
            raise ConfigError(f"--{name} {text!r}: must look like 30s or 500ms")
        return seconds

    def warm_up(self, count: int) -> Warmup:
        """What is not measured, of `count` requests or --duration. Raises ConfigError."""
        text = self.warmup.strip()
        if text.endswith("%"):
            share = (seconds_of(text.removesuffix("%")) or 0.0) / 100
            duration = self.seconds("duration")
            if self.requests is None and duration is not None:
                return Warmup(seconds=duration * share)
            return Warmup(requests=int((self.requests or count) * share))
        if text.isdigit():
            return Warmup(requests=int(text))
        if (seconds := seconds_of(text)) is None:
            raise ConfigError(f"--warmup {text!r}: must look like 20 (requests), 10s or 10%")
        return Warmup(seconds=seconds)

    def slos(self) -> list[Slo]:
        """Raises ConfigError."""
        return parse_slos(self.slo)

    def isolated(self, kind: str) -> Isolation:
        """How a run's, or a side's, caches are kept apart from others'. kind: of the source. Raises ConfigError."""
        if self.isolation == "prompts" and kind != "trace":
            raise ConfigError("--isolation prompts is for traces: recorded prompts stay as they are (salt or none)")
        if self.isolation is not None:
            return self.isolation
        return "prompts" if kind == "trace" else "salt" if self.compare is not None else "none"
