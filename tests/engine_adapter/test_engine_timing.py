"""engine_adapter.engine_timing: how long many decode steps take, and how many fit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_adapter.engine_timing import PROFILES

profiles = st.sampled_from(sorted(PROFILES))
batches = st.tuples(st.integers(1, 256), st.integers(0, 3_000_000))


@given(name=profiles, batch=batches, steps=st.integers(1, 300))
def test_many_steps_take_as_long_as_one_after_the_other(name: str, batch: tuple[int, int], steps: int) -> None:
    """Each step has one more token of context for every request."""
    timing, (requests, context) = PROFILES[name], batch
    one_by_one = sum(timing.decode_s(requests, context + requests * nth) for nth in range(steps))
    assert timing.decode_s(requests, context, steps) == pytest.approx(one_by_one)


@given(name=profiles, batch=batches, most=st.integers(1, 4000), seconds=st.floats(0, 300))
def test_decoding_until_a_time_takes_the_fewest_steps(
    name: str, batch: tuple[int, int], most: int, seconds: float
) -> None:
    """At least one, no more than allowed, and one less would end too early."""
    timing = PROFILES[name]
    steps, took = timing.decode_until(*batch, seconds, most)
    assert 1 <= steps <= most
    assert took == timing.decode_s(*batch, steps)
    assert took >= seconds or steps == most
    assert steps == 1 or timing.decode_s(*batch, steps - 1) < seconds
