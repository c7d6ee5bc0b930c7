"""Hit rates over engines that report differently: sums of tokens over sums of tokens, and unknown is not zero."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_adapter.usage import parse_usage
from prefix.record import RequestRecord
from telemetry.aggregate import DIMENSIONS, Aggregate, Row
from telemetry.labels import Labels

Make = Callable[..., RequestRecord]


def openai(prompt: int, cached: int | None) -> dict[str, Any]:
    """Cached tokens are part of the prompt's; without details nobody said."""
    details = {} if cached is None else {"prompt_tokens_details": {"cached_tokens": cached}}
    return {"prompt_tokens": prompt, "completion_tokens": 1, **details}


def anthropic(fresh: int, read: int, written: int) -> dict[str, Any]:
    """Three disjoint counters."""
    counts = {"cache_read_input_tokens": read, "cache_creation_input_tokens": written}
    return {"input_tokens": fresh, "output_tokens": 1, **counts}


def counted(make_record: Make, usages: list[dict[str, Any]], *, reports: bool | None = None) -> Row:
    """The one row of requests with these usage objects."""
    aggregate = Aggregate(Labels())
    for each in usages:
        usage = parse_usage(each, cache_report=reports)
        aggregate.record(make_record(input_tokens=usage.input_total, cached_tokens=usage.cached_read))
    (row,) = aggregate.rows(())
    return row


@pytest.mark.parametrize(
    ("usages", "rate", "unknown"),
    [
        ([openai(100, 100), openai(9900, 0)], Fraction(1, 100), 0),  # the mean of the two ratios is 50 %
        ([openai(1000, 500), openai(1000, None)], Fraction(1, 2), 1),
        ([openai(1000, 500), openai(1000, 0)], Fraction(1, 4), 0),
        ([openai(1000, None), openai(10, None)], None, 2),
        ([openai(1000, 750), anthropic(100, 800, 100)], Fraction(1550, 2000), 0),
        ([anthropic(5, 0, 995), anthropic(5, 995, 0)], Fraction(995, 2000), 0),
        ([{"prompt_tokens": 100, "prompt_cache_hit_tokens": 80, "prompt_cache_miss_tokens": 20}], Fraction(4, 5), 0),
        ([openai(100, 101), openai(100, 50)], Fraction(1, 2), 1),
        ([openai(100, -1), openai(100, 50)], Fraction(1, 2), 1),
        ([{"prompt_tokens": 100, "prompt_tokens_details": None}, openai(100, 25)], Fraction(1, 4), 1),
    ],
)
def test_the_rate_of_requests_together(
    make_record: Make, usages: list[dict[str, Any]], rate: Fraction | None, unknown: int
) -> None:
    """Tokens over tokens of those who reported; who did not is counted apart, and nobody's rate is no rate."""
    row = counted(make_record, usages)
    assert row.hit_rate == (None if rate is None else float(rate))
    assert row.sums.unknown_requests == unknown


def test_an_engine_known_to_report_says_zero_by_saying_nothing(make_record: Make) -> None:
    """The same usage is a miss where the cache report is on, and nothing known where it is off."""
    assert counted(make_record, [openai(100, None)], reports=True).hit_rate == 0.0
    assert counted(make_record, [openai(100, None)], reports=False).hit_rate is None


groups = st.tuples(*(st.sampled_from(["a", "b"]) for _ in DIMENSIONS))
reports = st.tuples(st.integers(0, 9000), st.none() | st.integers(0, 9000), groups)


@given(st.lists(reports, min_size=1))
def test_a_rate_lies_between_those_of_its_parts(
    make_record: Make, drawn: list[tuple[int, int | None, tuple[str, ...]]]
) -> None:
    """However requests are grouped: no grouping adds or loses a token, and a whole is never beyond its parts."""
    aggregate = Aggregate(Labels(["a", "b"]))
    for prompt, cached, (route, customer, version) in drawn:
        made = {"route": route, "customer": customer, "prompt_version": version}
        aggregate.record(make_record(input_tokens=prompt, cached_tokens=cached, **made))
    (whole,) = aggregate.rows(())
    for by in DIMENSIONS:
        parts = aggregate.rows([by])
        assert sum(part.sums.input_tokens for part in parts) == whole.sums.input_tokens
        assert sum(part.sums.cached_tokens for part in parts) == whole.sums.cached_tokens
        rates = [part.hit_rate for part in parts if part.hit_rate is not None]
        assert (whole.hit_rate is None) == (not rates)
        if whole.hit_rate is not None:
            assert min(rates) - 1e-12 <= whole.hit_rate <= max(rates) + 1e-12
