"""gateway.bench.plan: sessions stay in order over rounds, and two sides' turns never overlap."""

from itertools import count, islice, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.bench.plan import ALONE, Turns, limited, slots

sides = st.integers(0, 1)
moments = st.floats(0, 1e4)
windows = st.floats(0.01, 100)


def test_slots_begin_again_with_sessions_of_their_own() -> None:
    """The second round's turns wait for the second round's, never for the first's."""
    planned = list(islice(slots([None, 0, None], count(0.0)), 6))
    assert [slot.ask for slot in planned] == [0, 1, 2, 0, 1, 2]
    assert [slot.after for slot in planned] == [None, 0, None, None, 3, None]
    assert [slot.again for slot in planned] == [False] * 3 + [True] * 3


@pytest.mark.parametrize(("most", "seconds", "left"), [(2, None, 2), (None, 3.0, 3), (2, 3.0, 2), (9, 3.0, 3)])
def test_a_plan_ends_at_a_number_or_a_moment(most: int | None, seconds: float | None, left: int) -> None:
    """Whichever comes first."""
    assert len(list(limited(slots([None], count(0.0)), most, seconds))) == left


@settings(max_examples=50)
@given(sides, moments, windows)
def test_windows_take_turns(side: int, at_s: float, window_s: float) -> None:
    """A moment of the plan comes while its side is on and the other is not, in the pair it belongs to."""
    turns = Turns("windows", window_s)
    inside = (turns.pair(at_s) + 0.5) * window_s  # away from the edges, where a rounding error decides
    real = turns.real_s(side, inside)
    assert turns.is_on(side, real)
    assert not turns.is_on(1 - side, real)
    assert turns.plan_s(side, real) == pytest.approx(inside)


@settings(max_examples=50)
@given(sides, windows, st.lists(moments, min_size=2, max_size=10))
def test_a_sides_time_never_goes_back(side: int, window_s: float, reals: list[float]) -> None:
    """It stands still in the other's windows, and all windows together are all the time there is."""
    turns = Turns("windows", window_s)
    plan = [turns.plan_s(side, real) for real in sorted(reals)]
    assert all(after >= before - 1e-9 for before, after in pairwise(plan))
    both = turns.plan_s(0, max(reals)) + turns.plan_s(1, max(reals))
    assert both == pytest.approx(max(reals))


def test_the_order_within_a_pair_alternates() -> None:
    """A B, B A, A B: what gets slower over time favours neither."""
    turns = Turns("windows", 10.0)
    on = [next(side for side in (0, 1) if turns.is_on(side, half * 10 + 5.0)) for half in range(6)]
    assert on == [0, 1, 1, 0, 0, 1]


@settings(max_examples=50)
@given(sides, moments)
def test_requests_come_to_both_at_once(side: int, at_s: float) -> None:
    """Without windows the plan's time is the run's."""
    assert ALONE.real_s(side, at_s) == ALONE.plan_s(side, at_s) == at_s
    assert ALONE.is_on(side, at_s)
