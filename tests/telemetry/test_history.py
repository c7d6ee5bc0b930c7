"""telemetry.history: token sums per step add up to what the aggregate counts, and nothing older is left."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from prefix.record import RequestRecord
from telemetry.aggregate import Aggregate
from telemetry.board import Board
from telemetry.history import STEPS, Ring, delta, points
from telemetry.labels import Labels

MakeRecord = Callable[..., RequestRecord]
START = 1_760_000_000.0
FIELDS = ("requests", "input_tokens", "cached_tokens", "expected_cached_tokens", "unknown_requests")

requests = st.fixed_dictionaries(
    {
        "customer": st.sampled_from("ab"),
        "prompt_version": st.sampled_from(["v1", "v2", None]),
        "input_tokens": st.none() | st.integers(0, 9000),
        "cached_tokens": st.none() | st.integers(-1, 4000),
        "expected_cached_tokens": st.none() | st.integers(0, 4000),
        "uncached_by_reason": st.dictionaries(st.sampled_from(["new", "stale", "page"]), st.integers(1, 900)),
    }
)


@settings(max_examples=60)
@given(st.lists(st.tuples(requests, st.floats(0, 120))))
def test_the_last_hour_adds_up_to_the_aggregate(make_record: MakeRecord, sent: list[tuple[Any, float]]) -> None:
    """For all traffic, per customer and per version, whatever is unknown or cannot be."""
    aggregate, board, now = Aggregate(Labels()), Board(START), START
    for fields, pause in sent[:28]:
        now += pause
        record = make_record(**fields)
        board.record(aggregate.record(record), record, now)
    wanted: list[tuple[dict[str, str], list[str]]] = [({}, []), ({"customer": "a"}, ["customer"])]
    wanted += [
        ({"version": "v1"}, ["prompt_version"]),
        ({"customer": "b", "version": "v2"}, ["customer", "prompt_version"]),
    ]
    for asked, by in wanted:
        _, found = board.history(now, 3600, **asked)
        rows = [
            row
            for row in aggregate.rows(by)
            if all(value in (row.customer, row.prompt_version) for value in asked.values())
        ]
        for name in FIELDS:
            assert sum(getattr(point, name) for point in found) == sum(getattr(row.sums, name) for row in rows)
        for reason in ("new", "stale", "page"):
            counted = sum(point.uncached_by_reason.get(reason, 0) for point in found)
            assert counted == sum(row.sums.uncached[reason] for row in rows)
    rows = aggregate.rows([])
    total = board.totals()
    assert [getattr(total, name) for name in FIELDS] == [
        sum(getattr(row.sums, name) for row in rows) for name in FIELDS
    ]
    assert total.hit_rate == (rows[0].hit_rate if rows else None)


def test_steps_are_in_order_and_empty_ones_are_there(make_record: MakeRecord) -> None:
    """60 s apart, the running one last; a step without requests has no hit rate; a window is cut to what is kept."""
    ring = Ring()
    ring.add(START + 90, delta(make_record(), (1000, 640)))
    found = points([ring], START + 200, 300)
    assert [point.requests for point in found] == [0, 0, 1, 0, 0]
    assert [point.hit_rate for point in found] == [None, None, 0.64, None, None]
    assert {after.at - before.at for before, after in pairwise(found)} == {60.0}
    assert found[-1].at <= START + 200 < found[-1].at + 60
    assert len(points([ring], START, 1e9)) == STEPS


def test_what_is_older_than_the_ring_is_gone(make_record: MakeRecord) -> None:
    """Also when nothing came in between, and when another request fell into the same slot."""
    ring = Ring()
    ring.add(START, delta(make_record(), (1000, 640)))
    later = START + 60 * STEPS
    assert sum(point.requests for point in points([ring], later, 3600)) == 0
    ring.add(later, delta(make_record(), (10, 4)))
    assert sum(point.input_tokens for point in points([ring], later, 3600)) == 10
