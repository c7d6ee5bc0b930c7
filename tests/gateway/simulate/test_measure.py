"""gateway.simulate.measure: what is counted, and the two bounds."""

import pytest

from gateway.router import Route
from gateway.simulate.fleet import Outcome
from gateway.simulate.measure import first_measured, measure, shared_hit_rate
from gateway.simulate.workload import simulated_requests
from tests.gateway.simulate.traces import BLOCK, chat, turn


def outcome(engine: int, ttft_s: float, cached: int, expected: int = 0, best: int = 0) -> Outcome:
    route = Route(str(engine), expected, best, "affinity" if expected else "spread", 1)
    return Outcome(engine, route, 0.0, ttft_s, 1.0, cached)


def test_the_first_tenth_is_left_out() -> None:
    """It fills the caches; fewer than ten requests are all counted."""
    assert [first_measured(count) for count in (1, 9, 10, 25, 100)] == [0, 0, 1, 2, 10]


def test_numbers() -> None:
    """Token ratios, not means of ratios; percentiles that are values of the run; work by engine."""
    requests = simulated_requests([turn(k, 100) for k in range(10)], BLOCK)
    outcomes = [outcome(0, 99.0, 96)] + [outcome(k % 2, float(k), 10 * k, 5, 9) for k in range(1, 10)]
    seen = measure(requests, outcomes, 2)
    assert (seen.requests, seen.input_tokens, seen.cached_tokens) == (9, 900, 450)
    assert seen.hit_rate == 0.5
    assert (seen.ttft_mean_s, seen.ttft_p50_s, seen.ttft_p90_s, seen.ttft_p99_s) == (5.0, 5.0, 9.0, 9.0)
    assert seen.imbalance == pytest.approx(max(250, 200) / 225)
    assert seen.given_up_tokens == 36
    assert seen.reasons == {"affinity": 9}


def test_an_infinite_cache_finds_all_that_was_there_before() -> None:
    """Prompts and responses of all earlier requests, in whole blocks; a response lacks its last token."""
    requests = simulated_requests(chat(sessions=3, turns=10), BLOCK)
    tokens = sum(request.prompt_tokens for request in requests[3:])
    hits = sum((3 * k + 1) * BLOCK for k in range(1, 10) for _ in range(3))
    assert shared_hit_rate(requests, BLOCK) == pytest.approx(hits / tokens)


def test_a_pooled_cache_is_bounded() -> None:
    """The smaller, the fewer hits; as large as everything, as good as infinite; too small for a prompt, none."""
    requests = simulated_requests(chat(sessions=5, turns=8), BLOCK)
    rates = [shared_hit_rate(requests, BLOCK, capacity) for capacity in (16, 400, 1_000, 10_000)]
    assert rates == sorted(rates)
    assert rates[0] == 0.0
    assert rates[-1] == shared_hit_rate(requests, BLOCK)
