"""telemetry.facts: what a record says, and when it says nothing."""

from collections.abc import Callable

import pytest

from prefix.record import RequestRecord
from telemetry.facts import itl_s, reported, ttft_s

MakeRecord = Callable[..., RequestRecord]


@pytest.mark.parametrize(("prompt", "cached"), [(None, 0), (10, None), (10, 11), (10, -1)])
def test_a_report_that_cannot_be_is_none(make_record: MakeRecord, prompt: int | None, cached: int | None) -> None:
    """Unknown is not zero."""
    assert reported(make_record(input_tokens=prompt, cached_tokens=cached)) is None
    assert reported(make_record(input_tokens=10, cached_tokens=10)) == (10, 10)


@pytest.mark.parametrize("fields", [{"stream": False}, {"outcome": "error"}, {"status": 400}, {"ttft_s": None}])
def test_only_a_streamed_success_has_a_first_token(make_record: MakeRecord, fields: dict[str, object]) -> None:
    """And so a gap between tokens."""
    assert ttft_s(make_record()) == 0.1
    assert ttft_s(make_record(**fields)) is itl_s(make_record(**fields)) is None


def test_one_token_has_no_gap(make_record: MakeRecord) -> None:
    """(duration - TTFT) / (tokens - 1)."""
    assert itl_s(make_record()) == pytest.approx(0.01)
    assert itl_s(make_record(output_tokens=1)) is itl_s(make_record(output_tokens=None)) is None
