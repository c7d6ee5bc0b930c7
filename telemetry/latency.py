"""How long prompts of which length wait: quantiles of TTFT and ITL, from buckets that merge.

Buckets grow by 8 % each, so a quantile, given as the geometric middle of its bucket, is at most 4 % off, whatever the
distribution (as in DDSketch, https://arxiv.org/abs/1908.10693); histograms of several routes add up exactly. Between
0.1 ms and 1,000 s; what lies outside counts as the nearest end.
"""

from array import array
from bisect import bisect_right
from dataclasses import dataclass
from math import ceil, log
from operator import add
from typing import Final

from prefix.record import RequestRecord
from telemetry.facts import itl_s, ttft_s

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


class LogHistogram:
    """Durations in buckets that each end 8 % later than the one before."""

    __slots__ = ("counts",)

    def __init__(self) -> None:
        self.counts = array("Q", bytes(8 * _BUCKETS))

    def observe(self, seconds: float) -> None:
        """Counts one duration."""
        bucket = 0 if seconds <= LEAST_S else min(ceil(log(seconds / LEAST_S) * _SCALE), _BUCKETS - 1)
        self.counts[bucket] += 1

    def add(self, other: "LogHistogram") -> None:
        """Adds another's durations to these."""
        self.counts = array("Q", map(add, self.counts, other.counts))

    def quantile(self, share: float) -> float | None:
        """The duration that this share does not exceed, in seconds; None when nothing was counted."""
        rank, seen = max(1, ceil(share * sum(self.counts))), 0
        for bucket, count in enumerate(self.counts):
            seen += count
            if seen >= rank:
                return LEAST_S * GROWTH ** (bucket - 0.5) if bucket else LEAST_S
        return None

    def percentiles(self) -> Percentiles | None:
        """The usual three; None when nothing was counted."""
        middle, most, nearly_all = (self.quantile(share) for share in (0.5, 0.95, 0.99))
        if middle is None or most is None or nearly_all is None:
            return None
        return Percentiles(middle, most, nearly_all)


class Lengths:
    """One route's (or several routes') latencies by prompt length: one row per bucket of EDGES."""

    __slots__ = ("itl", "requests", "ttft")

    def __init__(self) -> None:
        rows = len(EDGES) + 1
        self.requests = [0] * rows
        self.ttft = [LogHistogram() for _ in range(rows)]
        self.itl = [LogHistogram() for _ in range(rows)]

    def record(self, record: RequestRecord) -> None:
        """Counts a finished request; one whose prompt nobody counted has no row."""
        if record.input_tokens is None:
            return
        row = bisect_right(EDGES, record.input_tokens)
        self.requests[row] += 1
        first, gap = ttft_s(record), itl_s(record)
        if first is not None:
            self.ttft[row].observe(first)
        if gap is not None:
            self.itl[row].observe(gap)

    def add(self, other: "Lengths") -> None:
        """Adds another's requests to these."""
        self.requests = list(map(add, self.requests, other.requests))
        for mine, its in zip((*self.ttft, *self.itl), (*other.ttft, *other.itl), strict=True):
            mine.add(its)
