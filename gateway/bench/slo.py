"""Service level objectives: which requests were fast enough.

`ttft`, `e2e` and `tpot` are a request's own; `itl` is what 95 % of its gaps between events do not exceed, so that one
answer that stutters does not hide among smooth ones.
"""

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Final

import msgspec

from gateway.bench.outcome import Outcome
from gateway.percentile import nearest_rank
from prefix.errors import ConfigError

_UNITS: Final = {"ms": 1e-3, "us": 1e-6, "s": 1.0}


class Slo(msgspec.Struct, frozen=True):
    """At most so many seconds of something."""

    what: str
    most_s: float


def _itl(outcome: Outcome) -> float | None:
    gaps = sorted(outcome.gaps_s)
    return nearest_rank(gaps, 0.95) if gaps else None


_TIMES: Final[Mapping[str, Callable[[Outcome], float | None]]] = {
    "ttft": lambda outcome: outcome.ttft_s,
    "itl": _itl,
    "tpot": lambda outcome: outcome.tpot_s,
    "e2e": lambda outcome: outcome.e2e_s,
}


def parse_slos(text: str) -> list[Slo]:
    """`ttft=500ms,itl=50ms`. Raises ConfigError."""
    return [_parse(word.strip()) for word in text.split(",") if word.strip()]


def seconds_of(text: str) -> float | None:
    """`1.5s`, `500ms`, or a number of seconds; None for anything else."""
    unit = next((unit for unit in _UNITS if text.endswith(unit)), "")
    try:
        seconds = float(text.removesuffix(unit)) * _UNITS.get(unit, 1.0)
    except ValueError:
        return None
    return seconds if isfinite(seconds) and seconds > 0 else None


def meets(outcome: Outcome, slos: Sequence[Slo]) -> bool | None:
    """Whether a completed request was fast enough in everything; None when one of its times is not known.

    One token has no gap that could be too long.
    """
    verdicts = [_meets(outcome, slo) for slo in slos]
    return False if False in verdicts else None if None in verdicts else True


def _meets(outcome: Outcome, slo: Slo) -> bool | None:
    seconds = _TIMES[slo.what](outcome)
    if seconds is None:
        return True if slo.what in ("itl", "tpot") and len(outcome.content_s) == 1 else None
    return seconds <= slo.most_s


def _parse(word: str) -> Slo:
    what, _, limit = word.partition("=")
    seconds = seconds_of(limit.strip())
    if what.strip() not in _TIMES or seconds is None:
        raise ConfigError(f"--slo {word!r}: must look like ttft=500ms; known: {', '.join(_TIMES)}")
    return Slo(what.strip(), seconds)
