"""A prompt version against its predecessor: did the hit rate change, did the wait for the first token?

Not an experiment: the two ran at different times, on different requests, so a difference may have another reason, and
what is said is that it is no chance.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from typing import Final, Literal

from telemetry.batches import Sums
from telemetry.significance import Difference, difference, ratio
from telemetry.versions import Predecessor

Verdict = Literal["worse", "better", "same", "not enough data"]

LEAST_CHANGE: Final = 0.01
"""A hit rate that changed by less than a point is the same, however sure it is that it changed."""
TELLING: Final = 0.05
"""Two are the same only where a change of so much would have shown."""


@dataclass(frozen=True, slots=True)
class Sides:
    """Of the predecessor, and of the newer version."""

    before: int
    after: int


@dataclass(frozen=True, slots=True)
class HitRates:
    """Of two versions' requests with a known cached count, the first ones of a version left out; change: after less
    before."""

    before: float
    after: float
    change: float
    p_value: float
    significant: bool


@dataclass(frozen=True, slots=True)
class Waits:
    """Medians of two versions' TTFTs in seconds; change: of the typical TTFT (geometric mean), as a share of before.
    The p value is that of the change."""

    before: float
    after: float
    change: float
    p_value: float
    significant: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """With the predecessor: what of its opening (tools, leading system text) the newer one shares with it, how both
    did (None with too little of either), requests of both, and what that says of the hit rate."""

    predecessor: str
    shared_prefix_tokens: int
    shared_prefix_share: float
    hit_rate: HitRates | None
    ttft_s: Waits | None
    requests: Sides
    verdict: Verdict


def compare(
    predecessor: Predecessor,
    opening_bytes: int,
    requests: tuple[int, int],
    batches: tuple[Sequence[Sums], Sequence[Sums]],
    medians: tuple[float | None, float | None],
) -> Comparison:
    """Pairs are of the predecessor and of the newer version. opening_bytes: of the newer one's opening."""
    found, verdict = hit_rates(*batches)
    return Comparison(
        predecessor=predecessor.name,
        shared_prefix_tokens=predecessor.shared_tokens,
        shared_prefix_share=predecessor.shared_bytes / max(1, opening_bytes),
        hit_rate=found,
        ttft_s=waits(*batches, medians),
        requests=Sides(*requests),
        verdict=verdict,
    )


def hit_rates(before: Sequence[Sums], after: Sequence[Sums]) -> tuple[HitRates | None, Verdict]:
    """Of two versions' batches; None with too little of either."""
    old, new = (ratio([(cached, prompt) for prompt, cached, *_ in batches]) for batches in (before, after))
    if old is None or new is None:
        return None, "not enough data"
    found = difference(old, new)
    return HitRates(old.value, new.value, found.change, found.p_value, found.significant), _verdict(found)


def waits(before: Sequence[Sums], after: Sequence[Sums], medians: tuple[float | None, float | None]) -> Waits | None:
    """Of two versions' batches and their median TTFTs; None with too few TTFTs of either."""
    old, new = (ratio([(total, count) for *_, count, total in batches]) for batches in (before, after))
    middle_before, middle_after = medians
    if old is None or new is None or middle_before is None or middle_after is None:
        return None
    found = difference(old, new)
    return Waits(middle_before, middle_after, exp(found.change) - 1, found.p_value, found.significant)


def _verdict(found: Difference) -> Verdict:
    if found.significant and abs(found.change) >= LEAST_CHANGE:
        return "worse" if found.change < 0 else "better"
    return "same" if 2 * found.error < TELLING else "not enough data"
