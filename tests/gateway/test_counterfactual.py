"""Reasons tell what faults cost: the tokens counted are those that a replay without the fault does not compute.

Planted faults and their reasons: a clock in one prompt version and shuffled tools in another (`divergent`), caches
too small (`evicted`), a salt per user (`isolated`), round robin (`routed_away`). Every replay checks that each
request's reasons add up to its uncached tokens.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cache

import pytest

from tests.gateway.planted_talks import FAULTS, replay

REASONS = {
    "clock": "divergent",
    "tools": "divergent",
    "small_cache": "evicted",
    "salt": "isolated",
    "round_robin": "routed_away",
}
TOGETHER = ("clock", "tools", "salt")
"""Faults in different traffic, so that taking one out changes nothing for the others."""


@cache
def uncached(faults: Sequence[str], page: int = 1, count: int = 120) -> Counter[str]:
    """By reason."""
    return replay(faults, page=page, count=count)


def off(fault: str, faults: tuple[str, ...], page: int = 1, count: int = 120) -> float:
    """By how much a fault's reason differs from what the fault cost among these, relative to that."""
    without = tuple(each for each in faults if each != fault)
    planted, other = uncached(faults, page, count), uncached(without, page, count)
    cost = planted.total() - other.total()
    assert cost > 0.02 * other.total()
    return abs(planted[REASONS[fault]] - other[REASONS[fault]] - cost) / cost


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_costs_what_its_reason_counts(fault: str) -> None:
    """Within 5 %, for each fault alone."""
    assert off(fault, (fault,)) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_so_it_is_with_pages_of_16_tokens(fault: str) -> None:
    """Within 5 %, for each fault alone; what rounding takes is `page` with and without it."""
    assert off(fault, (fault,), page=16, count=600) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "faults"),
    [
        *((fault, TOGETHER) for fault in TOGETHER),
        ("small_cache", (*TOGETHER, "small_cache")),
        ("round_robin", (*TOGETHER, "round_robin")),
    ],
)
def test_faults_planted_together_are_told_apart(fault: str, faults: tuple[str, ...]) -> None:
    """Within 5 % of a replay without this one, the others still planted."""
    assert off(fault, faults, count=600) < 0.05


def test_without_faults_what_is_uncached_is_new() -> None:
    """Sound traffic on large caches: under 1 % has any other reason than `new` and the last token."""
    clean = uncached(())
    assert clean["new"] + clean["page"] > 0.99 * clean.total()
