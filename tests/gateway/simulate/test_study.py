"""gateway.simulate.study: one policy at one load on a cold fleet."""

import gc

import pytest

from gateway.simulate.study import Setting, bounds, check_room, run
from gateway.simulate.workload import simulated_requests
from prefix.errors import ConfigError
from tests.gateway.simulate.traces import BLOCK, chat, turn

SETTING = Setting(engines=3, kv_capacity_tokens=4_000, block_tokens=BLOCK, profile="8b", seed=0)
REQUESTS = simulated_requests(chat(sessions=10, turns=5), BLOCK)


def test_runs_are_cold_and_repeat() -> None:
    """A second run of the same policy knows nothing of the first."""
    heard: list[int] = []
    first, again = (run(REQUESTS, SETTING, "expected-ttft", 1.0, heard.append) for _ in range(2))
    assert first.measured == again.measured
    assert (first.policy, first.rate, first.measured.requests) == ("expected-ttft", 1.0, 45)
    assert first.simulated_per_s > 0
    assert heard == [50, 50]
    assert gc.isenabled()


def test_affinity_reaches_the_bound_and_round_robin_does_not() -> None:
    """Sessions with room for all: one cache's hits are within reach of three engines."""
    infinite, pooled = bounds(REQUESTS, SETTING)
    rates = {
        policy: run(REQUESTS, SETTING, policy, 1.0, lambda _done: None).measured.hit_rate
        for policy in ("expected-ttft", "session", "round-robin")
    }
    assert infinite == pooled == pytest.approx(rates["expected-ttft"], abs=0.02)
    assert rates["session"] == pytest.approx(infinite)
    assert rates["round-robin"] < 0.9 * infinite


@pytest.mark.parametrize(("capacity", "fits"), [(1_016, True), (1_000, False), (999, False), (10, False), (1, False)])
def test_the_longest_prompt_must_fit(capacity: int, fits: bool) -> None:
    """It is told with what would do, before anything runs; the capacity it names does."""
    requests = simulated_requests([turn(0, 1_000)], BLOCK)
    setting = Setting(2, capacity, BLOCK, "8b", 0)
    if fits:
        check_room(requests, setting)
        return
    with pytest.raises(ConfigError, match=f"--kv-capacity {capacity}: .* 1000 tokens; give more than") as refused:
        check_room(requests, setting)
    enough = int(str(refused.value).rsplit(" ", 1)[1])
    check_room(requests, Setting(2, enough + BLOCK, BLOCK, "8b", 0))
