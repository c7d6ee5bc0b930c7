"""gateway.retry: what is tried again, and how often all requests together."""

from typing import get_args

import pytest

from gateway.http1 import FaultKind
from gateway.retry import AGAIN, BURST, FLOOR_PER_S, SHARE, RetryBudget, Tries


def test_every_fault_has_its_rule() -> None:
    """The table is complete."""
    assert set(AGAIN) == set(get_args(FaultKind))


@pytest.mark.parametrize(
    ("faults", "allowed"),
    [
        (["refused"] * 4, [True, True, False, False]),
        (["unavailable", "unreachable", "unavailable"], [True, True, False]),
        (["timeout"], [False]),
        (["invalid"], [False]),
        (["disconnected", "disconnected"], [True, False]),
        (["disconnected", "refused"], [True, False]),
        (["busy", "busy"], [True, False]),
        (["refused", "disconnected", "refused"], [True, True, False]),
        (["busy", "timeout"], [True, False]),
    ],
)
def test_what_one_request_may(faults: list[FaultKind], allowed: list[bool]) -> None:
    """Three attempts in all; after a connection that closed, or a 429, one more and no other."""
    tries = Tries(RetryBudget(), 3)
    assert [tries.again(kind, 0.0) for kind in faults] == allowed


def test_one_attempt_is_no_retry() -> None:
    """max_attempts 1 turns retries off."""
    assert not Tries(RetryBudget(), 1).again("refused", 0.0)


def retried(requests: int, per_s: float) -> int:
    """How many of the requests are retried when all of them fail every time."""
    budget = RetryBudget()
    return sum(Tries(budget, 2).again("refused", number / per_s) for number in range(requests))


def test_a_broken_fleet_is_not_hammered() -> None:
    """However long all requests fail, retries stay a fifth of them, and the burst after a quiet time."""
    assert retried(10, 1000.0) == 10
    for requests in (1000, 10_000):
        assert retried(requests, 1000.0) == pytest.approx(BURST + requests * (SHARE + FLOOR_PER_S / 1000), abs=2)


def test_an_engine_that_ends_takes_nobody_with_it() -> None:
    """After a good time as many retries as there are requests in flight; then a fifth of what comes again."""
    budget = RetryBudget()
    for _ in range(2000):
        budget.earn(400)
    assert [budget.take(0.0) for _ in range(500)].count(True) == 400
    for _ in range(100):
        budget.earn(400)
    assert [budget.take(0.0) for _ in range(100)].count(True) == pytest.approx(100 * SHARE, abs=1)


def test_what_is_kept_shrinks_with_the_traffic() -> None:
    """A gateway that is nearly idle again keeps no more than a burst."""
    budget = RetryBudget()
    for _ in range(2000):
        budget.earn(400)
    for _ in range(500):
        budget.earn(1)
    assert [budget.take(0.0) for _ in range(100)].count(True) == BURST


def test_few_requests_are_always_retried() -> None:
    """One a second never runs out."""
    assert retried(500, 1.0) == 500


def test_a_clock_that_goes_back_adds_nothing() -> None:
    """Nor does it take any away."""
    budget = RetryBudget()
    assert [budget.take(100.0 - second) for second in range(25)] == [True] * int(BURST) + [False] * 5
