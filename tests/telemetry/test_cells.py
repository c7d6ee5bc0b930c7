"""Cells add up exactly and never outnumber their limit."""

from bisect import bisect_left

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry.catalog import Metric
from telemetry.cells import Buckets, Counter, Histogram, TokenSums
from telemetry.labels import OTHER
from telemetry.points import Distribution

COUNTER = Metric("test.events", "counter", "{event}", ("a", "b"), 4, "Events.", None)
SECONDS = Metric("test.duration", "histogram", "s", ("a",), 3, "Durations.", None, (0.1, 1.0))

pairs = st.tuples(st.sampled_from("abcdef"), st.sampled_from("xyz"))


@given(st.lists(st.tuples(pairs, st.integers(0, 10))))
def test_counter_keeps_the_sum_within_the_limit(events: list[tuple[tuple[str, str], int]]) -> None:
    """Past the limit label sets share one cell: the total stays exact, the first ones stay exact themselves."""
    counter = Counter(COUNTER)
    for key, n in events:
        counter[key].value += n
    points = counter.family().points
    assert len(points) <= COUNTER.limit
    assert sum(count.value for count in counter.values()) == sum(n for _, n in events)
    for labels, value in points:
        assert OTHER in labels or value == sum(n for key, n in events if key == labels)


def test_overflow_goes_to_other_in_every_label() -> None:
    """The shared cell says `other` everywhere and counts within the limit."""
    counter = Counter(COUNTER)
    for name in "abcdefgh":
        counter[name, "x"].value += 1
    assert dict(counter.family().points) == {("a", "x"): 1, ("b", "x"): 1, ("c", "x"): 1, (OTHER, OTHER): 5}


@pytest.mark.parametrize(
    ("value", "bucket"), [(0.0, 0), (0.1, 0), (0.1000001, 1), (1.0, 1), (1.1, 2), (1e9, 2), (-1.0, 0)]
)
def test_a_value_on_a_bound_belongs_to_it(value: float, bucket: int) -> None:
    """Upper bounds are inclusive, as in OpenTelemetry and Prometheus."""
    buckets = Buckets(SECONDS.buckets)
    buckets.observe(value)
    assert buckets.distribution().counts == tuple(int(n == bucket) for n in range(3))


@given(st.lists(st.floats(0, 1e6)))
def test_histogram_counts_every_value_once(values: list[float]) -> None:
    """Counts and total are those of the values."""
    histogram = Histogram(SECONDS)
    for value in values:
        histogram["a",].observe(value)
    expected = [sum(bisect_left(SECONDS.buckets, value) == n for value in values) for n in range(3)]
    for _, distribution in histogram.family().points:
        assert distribution == Distribution(tuple(expected), sum(values, 0.0))
    assert len(histogram.family().points) == bool(values)


def test_token_sums_add_every_field() -> None:
    """Adding sums adds each of their fields."""
    sums = TokenSums(1, 2, 3, 4, 5, 6, 7, 8)
    sums.add(TokenSums(10, 20, 30, 40, 50, 60, 70, 80))
    assert sums == TokenSums(11, 22, 33, 44, 55, 66, 77, 88)
