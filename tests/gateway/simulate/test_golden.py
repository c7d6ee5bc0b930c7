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
    "cache-aware": ("ff5fa5ad5304b12d", "d2b32c07e79c905e"),
    "expected-ttft": ("a3f0507f430fa33f", "d2b32c07e79c905e"),
    "least-load": ("340c5e2d9b1d32d3", "0272913f0058ebce"),
    "llm-d": ("d7e98e95593c30e9", "d2b32c07e79c905e"),
    "prefix-hash": ("a401ca8e5af6f5be", "f0a4c4d0bdfe3ca0"),
    "random": ("e30eb2a0cb7ad6a9", "1468bdd97acfe0a9"),
    "round-robin": ("cf81f60c8356d49c", "f523319bf2b2fd19"),
    "session": ("87ebdf9bfe614728", "9f3e5b5851fe4316"),
}


@pytest.mark.parametrize("policy", POLICIES)
def test_outcomes_are_as_before(policy: str) -> None:
    """Every placement, time and hit: under overload with evictions and retractions, and of sessions."""
    overload = digest(play(busy(600, seed=3), policy, engines=3, seed=7)[1])
    sessions = digest(play(chat(sessions=12, turns=8), policy, engines=3, rate=20.0, seed=7)[1])
    assert (overload, sessions) == GOLDEN[policy]
