"""How long prompts of which length wait: quantiles of TTFT and ITL, from buckets that merge.

Buckets grow by 8 % each, so a quantile, given as the geometric middle of its bucket, is at most 4 % off, whatever the
distribution (as in DDSketch, https://arxiv.org/abs/1908.10693); histograms of several routes add up exactly. Between
0.1 ms and 1,000 s; what lies outside counts as the nearest end.
"""

from array import array
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import accumulate
from math import ceil, log
from operator import add
from typing import Final

GROWTH: Final = 1.08
LEAST_S: Final = 1e-4
MOST_S: Final = 1e3
EDGES: Final = tuple(512 << place for place in range(9))
"""Prompt lengths in tokens that part the rows: below 512, ..., from 131,072 on."""

_SCALE: Final = 1 / log(GROWTH)
_BUCKETS: Final = ceil(log(MOST_S / LEAST_S) * _SCALE) + 1


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Seconds, each at most 4 % off."""

    p50: float
    p95: float
    p99: float


def bucket_of(seconds: float) -> int:
    """Where a duration is counted."""
    return 0 if seconds <= LEAST_S else min(ceil(log(seconds / LEAST_S) * _SCALE), _BUCKETS - 1)


class LogHistogram:
    """Durations in buckets that each end 8 % later than the one before."""

    __slots__ = ("counts",)

    def __init__(self) -> None:
        self.counts = array("Q", bytes(8 * _BUCKETS))

    def observe(self, bucket: int) -> None:
        """Counts one duration, by its `bucket_of`."""
        self.counts[bucket] += 1

    def add(self, other: "LogHistogram") -> None:
        """Adds another's durations to these."""
        self.counts = array("Q", map(add, self.counts, other.counts))

    def quantiles(self, *shares: float) -> list[float] | None:
        """The durations that these shares do not exceed, in seconds; None when nothing was counted."""
        seen = list(accumulate(self.counts))
        if not seen[-1]:
            return None
        buckets = [bisect_left(seen, max(1, ceil(share * seen[-1]))) for share in shares]
        return [LEAST_S * GROWTH ** (bucket - 0.5) if bucket else LEAST_S for bucket in buckets]

    def median(self) -> float | None:
        """Half of them take no longer; None when nothing was counted."""
        found = self.quantiles(0.5)
        return found[0] if found is not None else None

    def percentiles(self) -> Percentiles | None:
        """The usual three; None when nothing was counted."""
        found = self.quantiles(0.5, 0.95, 0.99)
        return Percentiles(*found) if found is not None else None


class Lengths:
    """One route's (or several routes') latencies by prompt length: one row per bucket of EDGES."""

    __slots__ = ("itl", "requests", "ttft")

    def __init__(self) -> None:
        rows = len(EDGES) + 1
        self.requests = [0] * rows
        self.ttft = [LogHistogram() for _ in range(rows)]
        self.itl = [LogHistogram() for _ in range(rows)]

    def record(self, prompt_tokens: int, ttft: int | None, itl: int | None) -> None:
        """Counts a request. ttft, itl: their buckets, None where they are unknown."""
        row = bisect_right(EDGES, prompt_tokens)
        self.requests[row] += 1
        if ttft is not None:
            self.ttft[row].observe(ttft)
        if itl is not None:
            self.itl[row].observe(itl)

    def add(self, other: "Lengths") -> None:
        """Adds another's requests to these."""
        self.requests = list(map(add, self.requests, other.requests))
        for mine, its in zip((*self.ttft, *self.itl), (*other.ttft, *other.itl), strict=True):
            mine.add(its)
