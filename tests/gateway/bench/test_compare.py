"""gateway.bench.compare: equal targets are told apart as rarely as promised, different ones are told apart."""

from collections.abc import Iterator
from random import Random

import pytest

from gateway.bench.compare import ALPHA, LEAST_PAIRS, METRICS, Comparison, Metric, compare
from gateway.bench.outcome import Outcome
from tests.gateway.bench.outcomes import outcome


def traffic(
    draw: Random, pairs: int, *, slower: float = 1.0, each: int = 8, side_luck: float = 0.0
) -> Iterator[Outcome]:
    """Both sides of a run whose windows have moods of their own; B's times are `slower` times A's."""
    for pair in range(pairs):
        mood = draw.lognormvariate(0, 0.3)
        for side in (0, 1):
            own = mood * draw.lognormvariate(0, 0.2 + side_luck)
            for _ in range(each):
                ttft = own * draw.lognormvariate(-2, 0.6) * (slower if side else 1.0)
                times = [ttft, ttft + 0.01, ttft + 0.02 + 0.01 * draw.random()]
                cached = draw.choice((0, 0, 64, 512))
                failed = "timeout" if draw.random() < 0.02 else None
                yield outcome(
                    side=side,
                    pair=pair,
                    content_s=times,
                    ended_s=times[-1],
                    input_tokens=1_000,
                    cached_tokens=cached,
                    error=failed,
                )


@pytest.mark.parametrize(
    ("metrics", "runs", "exchanges"),
    [(METRICS[:1], 100, 99), (METRICS[1:2], 100, 99), pytest.param(METRICS, 100, 199, marks=pytest.mark.slow)],
)
def test_equal_targets_are_rarely_called_different(metrics: tuple[Metric, ...], runs: int, exchanges: int) -> None:
    """Of so many runs at most as many have any verdict as ALPHA allows (and three standard errors)."""
    found = [
        compare(
            list(traffic(Random(seed), 12, each=4)), Random(seed), metrics=metrics, exchanges=exchanges, resamples=1
        )
        for seed in range(runs)
    ]
    alarms = sum(any(row.verdict in ("better", "worse") for row in one.rows) for one in found)
    assert alarms <= runs * ALPHA + 3 * (runs * ALPHA * (1 - ALPHA)) ** 0.5


@pytest.fixture(scope="module")
def slow() -> Comparison:
    """A run whose B takes twice as long."""
    return compare(list(traffic(Random(1), 14, slower=2.0, each=8)), Random(1), exchanges=199, resamples=99)


def test_a_slower_target_is_found(slow: Comparison) -> None:
    """The verdict is B's, the interval holds the change, and what is equal stays equal."""
    rows = {row.name: row for row in slow.rows}
    ttft = rows["TTFT p50"]
    assert (ttft.verdict, rows["end to end p50"].verdict) == ("worse", "worse")
    assert ttft.change is not None
    assert ttft.low is not None
    assert ttft.high is not None
    assert 0 < ttft.low <= ttft.change <= ttft.high
    assert rows["hit rate"].verdict == rows["failed"].verdict == "no difference"


def test_the_other_way_round_it_is_better(slow: Comparison) -> None:
    """Exchanging the sides exchanges the verdicts."""
    swapped = [outcome(side=1 - each.side, pair=each.pair, content_s=each.content_s, ended_s=each.ended_s)
               for each in traffic(Random(1), 14, slower=2.0, each=8)]  # fmt: skip
    rows = {row.name: row for row in compare(swapped, Random(1), exchanges=199, resamples=99).rows}
    assert rows["TTFT p50"].verdict == "better"
    assert rows["TTFT p50"].change == pytest.approx(
        -next(r.change or 0 for r in slow.rows if r.name == "TTFT p50"), rel=0.2
    )


def test_a_better_hit_rate_is_better() -> None:
    """More hits are good, more failures are not."""
    pairs = [
        outcome(side=side, pair=pair, cached_tokens=side * 50 + nth, error="timeout" if side and nth else None)
        for pair in range(12)
        for side in (0, 1)
        for nth in range(3)
    ]
    rows = {row.name: row for row in compare(pairs, Random(0), exchanges=199, resamples=99).rows}
    assert (rows["hit rate"].verdict, rows["failed"].verdict) == ("better", "worse")


@pytest.mark.parametrize("pairs", [0, 1, LEAST_PAIRS - 1])
def test_few_windows_prove_nothing(pairs: int) -> None:
    """However large the difference."""
    found = compare(list(traffic(Random(2), pairs, slower=50.0)), Random(2))
    assert found.pairs == pairs
    assert {row.verdict for row in found.rows} == {"not enough windows"}


def test_windows_of_one_side_only_are_left_out() -> None:
    """A pair counts when both sides have something in it; the warm-up never does."""
    lonely = [outcome(side=0, pair=7), outcome(side=0, pair=8), outcome(side=1, pair=8, measured=False)]
    assert compare(lonely, Random(0)).pairs == 0


def test_answers_in_one_piece_have_no_ttft_to_compare() -> None:
    """Unknown on both sides: no change, no verdict."""
    whole = [outcome(side=side, pair=pair, content_s=[]) for pair in range(12) for side in (0, 1)]
    rows = {row.name: row for row in compare(whole, Random(0), exchanges=199, resamples=99).rows}
    ttft = rows["TTFT p50"]
    assert (ttft.a, ttft.change, ttft.p_value, ttft.verdict) == (None, None, None, "not measured")
    assert len(rows) == len(METRICS)
