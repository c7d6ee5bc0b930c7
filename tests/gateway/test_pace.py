"""Which workers prefill slower than the others, from noisy first tokens."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.pace import MOST, Pace, Paces


def seconds(uncached: int, chance: Random) -> float:
    """A prefill of 20 ms and 8,000 tokens/s, with noise of up to a third either way."""
    return (0.02 + uncached / 8000) * chance.uniform(0.67, 1.33)


def test_nothing_is_known_before_the_first_token() -> None:
    """A worker that nobody saw is like the others."""
    assert Pace().slowness == 1.0


@pytest.mark.parametrize("factor", [1.0, 3.0, 1 / 3])
def test_a_worker_is_compared_with_the_others_through_noise(factor: float) -> None:
    """Three equal workers and one that takes `factor` times as long: 1 for equals, else most of the ratio."""
    chance, paces, fleet = Random(7), Paces(), [Pace() for _ in range(4)]
    for number in range(1_000):
        uncached = int(chance.paretovariate(1.2) * 100)
        took = seconds(uncached, chance) * (factor if number % 4 == 0 else 1.0)
        paces.learn(fleet[number % 4], uncached, took)
    odd, equal = fleet[0].slowness, fleet[1].slowness
    if factor == 1.0:
        assert {pace.slowness for pace in fleet} == {1.0}
    else:
        assert 1.8 < (odd / equal if factor > 1 else equal / odd) < 3.6


def test_hits_are_not_speed() -> None:
    """A worker whose prompts are nearly all cached spends its time on overheads, and is not slow for that."""
    chance, paces, cached, new = Random(7), Paces(), Pace(), Pace()
    for _ in range(400):
        paces.learn(cached, 40, seconds(40, chance))
        paces.learn(new, 8_000, seconds(8_000, chance))
    assert cached.slowness == new.slowness == 1.0


@given(st.lists(st.tuples(st.integers(1, 2**40), st.floats(0, 1e6), st.integers(0, 2)), max_size=60))
def test_any_first_tokens_leave_a_sane_number(seen: list[tuple[int, float, int]]) -> None:
    """Batches (no time between two), hours of silence, prompts of any size: within limits."""
    paces, fleet = Paces(), [Pace(), Pace(), Pace()]
    for uncached, busy_s, worker in seen:
        paces.learn(fleet[worker], uncached, busy_s)
    assert all(1 / MOST <= pace.slowness <= MOST for pace in fleet)
