"""Do two targets differ, or is that chance?

One idea: both got the same plan, cut into pairs of windows, so if they are the same it is chance which of a pair's
two samples is A's. Exchange them in every way (or in 499 drawn ones) and see how often they then differ as much as
the real ones: an exact test for any number, a 99th percentile too (Fisher's randomization test, on matched pairs).
The interval of a difference is the bootstrap's, whole pairs drawn with replacement (Efron 1979), so requests that
queued behind each other stay together. Several numbers are looked at, so their p-values are corrected by Holm (1979):
with equal targets, one of them or more is called different in at most ALPHA of all runs.

What cannot be seen: luck that lasts for the whole run and longer than a window (which engine got the hot prompt).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, product
from typing import Any, Final, Literal, Protocol

import msgspec

from gateway.bench.outcome import Outcome
from gateway.bench.summary import cached_of
from gateway.percentile import nearest_rank

ALPHA: Final = 0.05
LEAST_PAIRS: Final = 10
"""With fewer not even the clearest difference could be told from chance, seven numbers being looked at."""

EXCHANGES: Final = 499
RESAMPLES: Final = 500
_ALL_UP_TO: Final = 9

Judgement = Literal["better", "worse", "no difference", "not enough windows", "not measured"]
Statistic = Callable[[Sequence[Any]], float | None]


class Lots(Protocol):
    """A source of randomness; random.Random is one."""

    def getrandbits(self, k: int) -> int:
        """So many random bits."""

    def randrange(self, stop: int, /) -> int:
        """From 0 to below `stop`."""


class Metric(msgspec.Struct, frozen=True):
    """One number that is compared. pick: a request's values. smaller: less is better. unit: "s", "share"."""

    name: str
    unit: str
    smaller: bool
    pick: Callable[[Outcome], Iterable[Any]]
    statistic: Statistic


class Compared(msgspec.Struct, frozen=True):
    """A metric of both sides, B less A with its 95 % interval, and what to make of it. p_value: corrected."""

    name: str
    unit: str
    a: float | None
    b: float | None
    change: float | None
    low: float | None
    high: float | None
    p_value: float | None
    verdict: Judgement


class Comparison(msgspec.Struct, frozen=True):
    """All metrics, over so many pairs of windows."""

    pairs: int
    alpha: float
    rows: list[Compared]


def _share(part: Callable[[Outcome], tuple[float, float] | None]) -> Callable[[Outcome], Iterable[Any]]:
    return lambda outcome: () if (found := part(outcome)) is None else (found,)


def _ratio(parts: Sequence[tuple[float, float]]) -> float | None:
    whole = sum(total for _, total in parts)
    return sum(part for part, _ in parts) / whole if whole else None


def _at(share: float) -> Statistic:
    return lambda values: nearest_rank(sorted(values), share) if values else None


def _time(read: Callable[[Outcome], float | None]) -> Callable[[Outcome], Iterable[Any]]:
    return lambda outcome: () if outcome.error or (seconds := read(outcome)) is None else (seconds,)


def _mean_gap(outcome: Outcome) -> float | None:
    times = outcome.content_s
    return (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else None


def _hits(outcome: Outcome) -> tuple[float, float] | None:
    cached = cached_of(outcome)
    return None if cached is None or outcome.error else (cached, outcome.input_tokens or 0)


METRICS: Final = (
    Metric("TTFT p50", "s", True, _time(lambda each: each.ttft_s), _at(0.5)),
    Metric("TTFT p99", "s", True, _time(lambda each: each.ttft_s), _at(0.99)),
    Metric("ITL (mean of an answer) p50", "s", True, _time(_mean_gap), _at(0.5)),
    Metric("ITL (mean of an answer) p99", "s", True, _time(_mean_gap), _at(0.99)),
    Metric("end to end p50", "s", True, _time(lambda each: each.e2e_s), _at(0.5)),
    Metric("hit rate", "share", False, _share(_hits), _ratio),
    Metric("failed", "share", True, _share(lambda each: (float(each.error is not None), 1.0)), _ratio),
)


def compare(
    outcomes: Sequence[Outcome],
    lots: Lots,
    *,
    metrics: Sequence[Metric] = METRICS,
    exchanges: int = EXCHANGES,
    resamples: int = RESAMPLES,
) -> Comparison:
    """Side 1 (B) with side 0 (A), over the pairs of windows in which both have measured requests.

    exchanges, resamples: how many are drawn for a p-value, for an interval.
    """
    samples: dict[int, tuple[list[Outcome], list[Outcome]]] = {}
    for outcome in outcomes:
        if outcome.measured:
            samples.setdefault(outcome.pair, ([], []))[outcome.side].append(outcome)
    pairs = [samples[pair] for pair in sorted(samples) if all(samples[pair])]
    rows = [_compare(metric, pairs, lots, exchanges, resamples) for metric in metrics]
    return Comparison(len(pairs), ALPHA, _judged(rows, len(pairs)))


def _compare(
    metric: Metric,
    pairs: Sequence[tuple[list[Outcome], list[Outcome]]],
    lots: Lots,
    exchanges: int,
    resamples: int,
) -> Compared:
    values = [tuple(sorted(chain.from_iterable(map(metric.pick, side))) for side in pair) for pair in pairs]
    a, b = (metric.statistic(list(chain.from_iterable(pair[side] for pair in values))) for side in (0, 1))
    if a is None or b is None:
        return Compared(metric.name, metric.unit, a, b, None, None, None, None, "not measured")
    change = b - a
    as_much = [abs(found) >= abs(change) * (1 - 1e-9) for found in _exchanged(metric, values, lots, exchanges)]
    resampled = sorted(_resampled(metric, values, lots, resamples))
    low, high = (nearest_rank(resampled, share) for share in (0.025, 0.975)) if resampled else (None, None)
    return Compared(
        metric.name, metric.unit, a, b, change, low, high, sum(as_much) / len(as_much), _direction(metric, change)
    )


def _exchanged(metric: Metric, values: Sequence[Any], lots: Lots, exchanges: int) -> Iterator[float]:
    """B less A as it is, and with the samples of some pairs exchanged; nothing known counts as no difference."""
    count = len(values)
    if count <= _ALL_UP_TO:
        ways: Iterable[Sequence[int]] = product((0, 1), repeat=count)
    else:
        drawn = (lots.getrandbits(count) for _ in range(exchanges))
        ways = chain([[0] * count], ([bits >> nth & 1 for nth in range(count)] for bits in drawn))
    for way in ways:
        yield _difference(metric, values, way) or 0.0


def _resampled(metric: Metric, values: Sequence[Any], lots: Lots, resamples: int) -> Iterator[float]:
    as_is = [0] * len(values)
    for _ in range(resamples):
        drawn = [values[lots.randrange(len(values))] for _ in values]
        if (found := _difference(metric, drawn, as_is)) is not None:
            yield found


def _difference(metric: Metric, values: Sequence[Any], way: Sequence[int]) -> float | None:
    a = metric.statistic(list(chain.from_iterable(pair[side] for pair, side in zip(values, way, strict=True))))
    b = metric.statistic(list(chain.from_iterable(pair[1 - side] for pair, side in zip(values, way, strict=True))))
    return None if a is None or b is None else b - a


def _direction(metric: Metric, change: float) -> Judgement:
    return "better" if (change < 0) == metric.smaller else "worse"


def _judged(rows: Sequence[Compared], pairs: int) -> list[Compared]:
    """With corrected p-values, and a verdict only where chance is unlikely (Holm's step-down procedure)."""
    known = sorted((row.p_value, nth) for nth, row in enumerate(rows) if row.p_value is not None)
    corrected: dict[int, float] = {}
    least = 0.0
    for rank, (p_value, nth) in enumerate(known):
        least = max(least, min(1.0, p_value * (len(known) - rank)))
        corrected[nth] = least
    return [_verdict(row, corrected.get(nth), pairs) for nth, row in enumerate(rows)]


def _verdict(row: Compared, p_value: float | None, pairs: int) -> Compared:
    verdict = row.verdict
    if pairs < LEAST_PAIRS:
        verdict = "not enough windows"
    elif p_value is not None and p_value >= ALPHA:
        verdict = "no difference"
    return msgspec.structs.replace(row, p_value=p_value, verdict=verdict)
