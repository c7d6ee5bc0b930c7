"""telemetry.latency: quantiles from buckets are at most 5 % off, and buckets add up."""

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry.latency import EDGES, LEAST_S, MOST_S, Lengths, LogHistogram, Percentiles, bucket_of

durations = st.lists(st.floats(LEAST_S, MOST_S), min_size=1, max_size=200)


def counted(values: list[float]) -> LogHistogram:
    """A histogram of these."""
    histogram = LogHistogram()
    for value in values:
        histogram.observe(bucket_of(value))
    return histogram


@given(durations, st.floats(0, 1))
def test_a_quantile_is_within_five_percent_of_the_exact_one(values: list[float], share: float) -> None:
    """Of any values, at any share: the value at that rank."""
    exact = sorted(values)[max(1, ceil(share * len(values))) - 1]
    assert counted(values).quantiles(share) == pytest.approx([exact], rel=0.05)


@given(durations, durations)
def test_histograms_add_up(some: list[float], others: list[float]) -> None:
    """Merged buckets are those of all values together."""
    merged = counted(some)
    merged.add(counted(others))
    assert merged.counts == counted(some + others).counts


def test_nothing_counted_is_unknown_and_extremes_have_a_bucket() -> None:
    """No quantile of nothing; zero and an hour count as the nearest end."""
    assert LogHistogram().median() is None
    assert LogHistogram().percentiles() is None
    assert counted([0.0]).percentiles() == Percentiles(LEAST_S, LEAST_S, LEAST_S)
    assert counted([3600.0]).median() == pytest.approx(MOST_S, rel=0.05)


def test_requests_have_the_row_of_their_prompts_length() -> None:
    """An edge belongs to the longer row; what is unknown of a request is not counted; rows add up."""
    lengths, others = Lengths(), Lengths()
    lengths.record(511, bucket_of(0.1), bucket_of(0.01))
    lengths.record(512, None, None)
    others.record(EDGES[-1], None, bucket_of(0.02))
    lengths.add(others)
    assert [lengths.requests[at] for at in (0, 1, -1)] == [1, 1, 1]
    assert sum(lengths.requests) == 3
    assert lengths.ttft[0].median() == pytest.approx(0.1, rel=0.05)
    assert lengths.itl[0].median() == pytest.approx(0.01, rel=0.05)
    assert lengths.itl[-1].median() == pytest.approx(0.02, rel=0.05)
    assert lengths.ttft[1].percentiles() is lengths.ttft[-1].percentiles() is None
