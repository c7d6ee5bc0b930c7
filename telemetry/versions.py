"""What is known of each prompt version of each route, and which one it came after.

A version's predecessor is chosen when its first request has ended, and stays: of the versions seen before it that
share at least half as much of its opening as the one that shares the most, the one with the most traffic in the ten
minutes before. Where nothing is shared, because the very beginning was rewritten, only one that had at least half of
the route's traffic then is taken for what the new one replaces: in a route with many prompts two may be unrelated.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Final

from prefix.record import RequestRecord
from prefix.view import View
from telemetry.batches import Batches
from telemetry.catalog import HIT_RATE_CHANGE
from telemetry.cells import Cells, Key
from telemetry.facts import Facts
from telemetry.history import Delta, Ring, Total
from telemetry.labels import OTHER, UNVERSIONED
from telemetry.latency import LogHistogram
from telemetry.openings import Opening

SPARKLINE_MINUTES: Final = 30
WARM_UP: Final = 20
"""Requests that fill caches, and are not compared; an automatic version had them before it was a label."""

_BEFORE_S: Final = 600


@dataclass(frozen=True, slots=True)
class Predecessor:
    """The version that another is compared with; bytes of its opening that they share, and tokens."""

    name: str
    shared_bytes: int
    shared_tokens: int


class Version:
    """One prompt version of one route. Times are Unix seconds; declared: named by the client or the configuration.

    batches: per stretch of time input tokens, cached tokens, TTFTs and the sum of their logarithms.
    """

    __slots__ = (
        *("batches", "declared", "first_seen", "last_seen", "opening", "predecessor"),
        *("requests", "ring", "total", "ttft"),
    )

    def __init__(self) -> None:
        self.declared = False
        self.first_seen = self.last_seen = 0.0
        self.total = Total()
        self.requests = 0
        self.ring = Ring()
        self.ttft = LogHistogram()
        self.batches = Batches()
        self.opening: Opening | None = None
        self.predecessor: Predecessor | None = None

    def record(self, seen: Facts, amounts: Delta, ttft: int | None, now: float) -> None:
        """Counts one request of this version. ttft: its bucket."""
        self.last_seen = now
        self.requests += 1
        self.total.add(amounts)
        self.ring.add(now, amounts)
        first, tokens = seen.ttft_s, seen.tokens
        if ttft is not None:
            self.ttft.observe(ttft)
        if tokens is not None and (not self.declared or self.requests > WARM_UP):
            waited = (0.0, 0.0) if first is None or first <= 0 else (1.0, log(first))
            self.batches.add(now, (*tokens, *waited))

    def sparkline(self, now: float) -> list[float | None]:
        """The hit rates of the last minutes, oldest first; None for a minute without a known one."""
        return self.ring.hit_rates(now, SPARKLINE_MINUTES)


class Versions(Cells[Version]):
    """By route and version label, `other` and `unversioned` too, so that they add up to all requests."""

    def __init__(self) -> None:
        super().__init__(HIT_RATE_CHANGE)
        self._opened: dict[str, list[tuple[str, Version]]] = {}

    def seen(self, key: Key, record: RequestRecord, view: View | None, now: float) -> Version:
        """The version of a request, still to be recorded. view: of its prompt, None when the gateway sees none."""
        version = self[key]
        if not version.requests:
            version.first_seen, version.declared = now, record.prompt_version_declared
        if version.opening is None and view is not None and view.stable and _is_one(key) and key in self:
            version.opening = Opening(view)
            tokens_per_byte = (record.input_tokens or 0) / max(1, len(view.text))
            others = self._opened.setdefault(key[0], [])
            version.predecessor = _before(others, version.opening, tokens_per_byte, now)
            others.append((key[1], version))
        return version

    def _new(self) -> Version:
        return Version()


def _is_one(key: Key) -> bool:
    """Whether this is one version, and not what is left over."""
    return key[1] not in (OTHER, UNVERSIONED)


def _before(
    others: Sequence[tuple[str, Version]], opening: Opening, tokens_per_byte: float, now: float
) -> Predecessor | None:
    """Which of a route's versions one with this opening comes after."""
    candidates = [
        (other.opening.shared_bytes(opening), other.ring.requests(now, _BEFORE_S), name)
        for name, other in others
        if other.opening is not None
    ]
    most = max((shared for shared, _, _ in candidates), default=0)
    traffic = sum(recent for _, recent, _ in candidates)
    akin = [
        (recent, shared, name)
        for shared, recent, name in candidates
        if (shared >= most / 2 if most else recent and recent >= traffic / 2)
    ]
    if not akin:
        return None
    _, shared, name = max(akin)
    return Predecessor(name, shared, round(shared * tokens_per_byte))
