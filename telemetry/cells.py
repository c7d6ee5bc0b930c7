"""Where a metric adds up: label tuple to a mutable cell, made when first asked for, never more than the limit.

Past the limit all further label tuples share one cell, `other` in every label, so sums stay exact.
"""

import collections
from abc import abstractmethod
from bisect import bisect_left
from dataclasses import dataclass, field, fields
from typing import Final, TypeVar

from prefix.record import RequestRecord, UncachedReason
from telemetry.catalog import TOKEN_USAGE, TPOT, TTFT, Metric
from telemetry.facts import reported
from telemetry.labels import OTHER
from telemetry.points import Distribution, Family, Seen

Key = tuple[str, ...]
_NO_REASONS: Final[dict[UncachedReason, int]] = {}
_Cell = TypeVar("_Cell")


class Cells(dict[Key, _Cell]):
    """The cells of one metric, or of several things that are always counted together under its labels and limit."""

    def __init__(self, metric: Metric) -> None:
        super().__init__()
        self.metric = metric

    def __missing__(self, key: Key) -> _Cell:
        # One place is kept for the shared cell, so that it fits the limit too.
        if len(self) >= self.metric.limit - 1:
            key = (OTHER,) * len(key)
        cell = self.get(key)
        if cell is None:
            cell = self[key] = self._new()
        return cell

    @abstractmethod
    def _new(self) -> _Cell:
        """A cell with nothing counted."""


@dataclass(slots=True)
class Count:
    """A count that only grows."""

    value: int = 0


class Counter(Cells[Count]):
    """A counter: `counter[key].value += n`."""

    def _new(self) -> Count:
        return Count()

    def family(self) -> Family:
        """The counts now."""
        return Family(self.metric, tuple((key, count.value) for key, count in self.items()))


@dataclass(slots=True)
class TokenSums:
    """Sums over the requests of one route, customer and prompt version (or of several).

    `unknown_requests` are those without a cached count; the others are behind `input_tokens`, `cached_tokens`,
    `expected_cached_tokens`, `stable_tokens` and `uncached`, by reason. All in tokens but the counts of requests.
    """

    requests: int = 0
    unknown_requests: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    expected_cached_tokens: int = 0
    unreported_input_tokens: int = 0
    stable_tokens: int = 0
    output_tokens: int = 0
    uncached: collections.Counter[UncachedReason] = field(default_factory=collections.Counter)

    @property
    def hit_rate(self) -> float | None:
        """Cached / input tokens of the requests whose cached count is known; None when there are none."""
        return self.cached_tokens / self.input_tokens if self.input_tokens else None

    def count(self, record: RequestRecord) -> None:
        """Counts one request."""
        self.requests += 1
        self.output_tokens += record.output_tokens or 0
        tokens = reported(record)
        if tokens is None:
            self.unknown_requests += 1
            self.unreported_input_tokens += record.input_tokens or 0
            return
        self.input_tokens += tokens[0]
        self.cached_tokens += tokens[1]
        self.expected_cached_tokens += record.expected_cached_tokens or 0
        self.stable_tokens += min(record.stable_tokens, tokens[0])
        for reason, count in (record.uncached_by_reason or _NO_REASONS).items():
            self.uncached[reason] += count

    def add(self, other: "TokenSums") -> None:
        """Adds another's sums to these."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


class Tokens(Cells[TokenSums]):
    """The token counters, which share their labels and so their cells."""

    def _new(self) -> TokenSums:
        return TokenSums()

    def uncached(self) -> Family:
        """The uncached tokens now, by the labels of their cell and reason."""
        counts = ((key, sums.uncached) for key, sums in self.items())
        return Family(self.metric, tuple(((*key, reason), n) for key, by in counts for reason, n in by.items()))


class Buckets:
    """One label tuple's histogram; a value on a bound belongs to that bound's bucket. exemplars: by bucket."""

    __slots__ = ("bounds", "counts", "exemplars", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0
        self.exemplars: dict[int, tuple[float, Seen]] = {}

    def observe(self, value: float, seen: Seen | None = None) -> None:
        """Counts one value, in the metric's unit. seen: the request, where it is sampled."""
        bucket = bisect_left(self.bounds, value)
        self.counts[bucket] += 1
        self.total += value
        if seen is not None:
            self.exemplars[bucket] = value, seen

    def distribution(self) -> Distribution:
        """A copy of what was counted."""
        return Distribution(tuple(self.counts), self.total, tuple(self.exemplars.values()))


class Histogram(Cells[Buckets]):
    """A histogram: `histogram[key].observe(value)`."""

    def _new(self) -> Buckets:
        return Buckets(self.metric.buckets)

    def family(self) -> Family:
        """The distributions now."""
        return Family(self.metric, tuple((key, each.distribution()) for key, each in self.items()))


class Responses:
    """The distributions of one operation, model and route: TTFT and TPOT in seconds, both lengths in tokens."""

    __slots__ = ("input", "output", "tpot", "ttft")

    def __init__(self) -> None:
        self.ttft = Buckets(TTFT.buckets)
        self.tpot = Buckets(TPOT.buckets)
        self.input = Buckets(TOKEN_USAGE.buckets)
        self.output = Buckets(TOKEN_USAGE.buckets)


class Models(Cells[Responses]):
    """The histograms per model, which share their labels and so their cells."""

    def _new(self) -> Responses:
        return Responses()

    def families(self) -> tuple[Family, ...]:
        """The distributions now; one without observations is unknown, so it has no point."""
        ttft = [(key, each.ttft) for key, each in self.items()]
        tpot = [(key, each.tpot) for key, each in self.items()]
        prompts = [((*key, "input"), each.input) for key, each in self.items()]
        answers = [((*key, "output"), each.output) for key, each in self.items()]
        return _observed(TTFT, ttft), _observed(TPOT, tpot), _observed(TOKEN_USAGE, prompts + answers)


def _observed(metric: Metric, cells: list[tuple[Key, Buckets]]) -> Family:
    points = ((key, each.distribution()) for key, each in cells if any(each.counts))
    return Family(metric, tuple(points))
