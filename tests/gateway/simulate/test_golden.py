"""What a simulation decides is kept: digests of every field of every outcome, for each policy.

A change for speed alone leaves them as they are. One that changes what is simulated or decided prints the new ones
here, and says in its message why they are better. Longer traces: tests/bench/bench_simulate.py.
"""

import pytest

from gateway.policies import POLICIES
from tests.bench.bench_simulate import digest
from tests.gateway.simulate.test_fleet import busy, play
from tests.gateway.simulate.traces import chat

GOLDEN = {
    "cache-aware": ("c7273d966f433b1e", "14b43ade5eb88e6e"),
    "expected-ttft": ("7a4378a895d035ad", "14b43ade5eb88e6e"),
    "least-load": ("22f409209852f9d8", "d34a76bb8d7c879b"),
    "llm-d": ("5ab4df1e9842d37e", "14b43ade5eb88e6e"),
    "prefix-hash": ("b3cad8ccb8be7fcc", "933fdfe8e241394e"),
    "random": ("a54b38ca13f3edb3", "5ae6122e41d0cbf8"),
    "round-robin": ("eeffac4e48a8b1f1", "6fefd4f18900fa5a"),
    "session": ("5960a147d2e30d7e", "ea9db8844ed33922"),
}


@pytest.mark.parametrize("policy", POLICIES)
def test_outcomes_are_as_before(policy: str) -> None:
    """Every placement, time and hit: under overload with evictions and retractions, and of sessions."""
    overload = digest(play(busy(600, seed=3), policy, engines=3, seed=7)[1])
    sessions = digest(play(chat(sessions=12, turns=8), policy, engines=3, rate=20.0, seed=7)[1])
    assert (overload, sessions) == GOLDEN[policy]
