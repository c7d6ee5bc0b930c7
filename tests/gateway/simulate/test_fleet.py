"""gateway.simulate.fleet: causal, complete, and nothing but the router's own calls."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from engine_adapter.engine_request import EngineConfig
from engine_adapter.engine_timing import PROFILES
from gateway.policies import POLICIES
from gateway.router import Route, Router
from gateway.simulate.fleet import Outcome, VirtualFleet
from gateway.simulate.workload import PAGE_BYTES, SimulatedRequest, simulated_requests
from prefix.trace import TraceRequest
from tests.gateway.simulate.traces import BLOCK, chat, turn

ENGINE = EngineConfig(page_tokens=BLOCK, page_bytes=PAGE_BYTES, kv_capacity_tokens=4_000, context_tokens=10**6)


def play(
    trace: list[TraceRequest], policy: str = "expected-ttft", engines: int = 2, rate: float = 1.0, seed: int = 0
) -> tuple[list[SimulatedRequest], list[Outcome]]:
    """Serve a trace; the requests and what became of them."""
    requests = simulated_requests(trace, BLOCK)
    router = Router(policy, block_tokens=BLOCK, seed=seed)
    return requests, VirtualFleet([ENGINE] * engines, router, rate=rate).play(requests, lambda _done: None)


def busy(count: int = 300, seed: int = 1) -> list[TraceRequest]:
    """A burst with shared prefixes, many times what two engines hold."""
    chance = Random(seed)
    stamps = sorted(chance.uniform(0, 20_000) for _ in range(count))
    return [
        turn(stamp, chance.randint(1, 900), chance.randint(0, 60), tuple(range(chance.randint(0, 20))))
        for stamp in stamps
    ]


@pytest.mark.parametrize("policy", POLICIES)
def test_every_request_is_served(policy: str) -> None:
    """With every policy, under overload: a first token after the arrival, an end after it, no impossible hit."""
    requests, outcomes = play(busy(), policy)
    for request, outcome in zip(requests, outcomes, strict=True):
        assert outcome.began_s == request.arrival_s
        assert outcome.ttft_s is not None
        assert outcome.ttft_s > 0
        assert outcome.ended_s >= outcome.began_s + outcome.ttft_s
        assert 0 <= outcome.cached_tokens < request.prompt_tokens
        assert outcome.cached_tokens % BLOCK == 0
        assert outcome.engine == int(outcome.route.worker)


def test_a_turn_waits_for_the_one_before() -> None:
    """However fast the trace is played, no turn starts before the session's last one has ended."""
    for rate in (0.5, 1.0, 100.0):
        requests, outcomes = play(chat(sessions=5, turns=6), rate=rate)
        for request, outcome in zip(requests, outcomes, strict=True):
            due = request.arrival_s / rate
            if request.after is None:
                assert outcome.began_s == due
            else:
                assert outcome.began_s == max(due, outcomes[request.after].ended_s)


def test_a_session_hits_its_own_history() -> None:
    """With room for all, a turn finds prompt and response of the last one, but for the last computed token."""
    _, outcomes = play(chat(sessions=4, turns=4))
    hits = [(3 * k + 1) * BLOCK for k in range(1, 4) for _ in range(4)]
    assert [outcome.cached_tokens for outcome in outcomes] == [0] * 4 + hits
    homes = [outcome.engine for outcome in outcomes]
    assert homes == homes[:4] * 4


def test_one_request_takes_what_the_model_says() -> None:
    """Alone on an idle engine: TTFT is its prefill, the end one decode step for each further token."""
    _, (outcome,) = play([turn(0, 100, 11)])
    timing = ENGINE.timing
    assert outcome.ttft_s == pytest.approx(timing.prefill_step_s + timing.prefill_s(0, 100))
    assert outcome.ended_s == pytest.approx(outcome.ttft_s + timing.decode_s(1, 100, 10))


def test_an_arrival_interrupts_decoding_at_the_next_step() -> None:
    """A new prompt is prefilled after the decode step under way, and the other request goes on after it."""
    timing = ENGINE.timing
    first_ttft = timing.prefill_step_s + timing.prefill_s(0, 100)
    arrival = first_ttft + 3.5 * timing.decode_s(1, 100)
    _, (one, two) = play([turn(0, 100, 50), turn(arrival * 1000, 64, 1)], engines=1)
    boundary = first_ttft + timing.decode_s(1, 100, 4)
    own = timing.prefill_step_s + timing.prefill_s(0, 64)
    assert two.ttft_s == pytest.approx(boundary + own - arrival)
    assert one.ended_s == pytest.approx(first_ttft + timing.decode_s(1, 100, 49) + own)


def test_a_slower_engine_gets_its_share() -> None:
    """One of four engines takes three times as long, as first tokens show: it gets little, and is not left out."""
    chance = Random(5)
    stamps = sorted(chance.uniform(0, 150_000) for _ in range(1_500))
    requests = simulated_requests([turn(stamp, chance.randint(500, 3_500), 4) for stamp in stamps], BLOCK)
    fast = replace(ENGINE, kv_capacity_tokens=100_000, timing=PROFILES["70b"])
    slow = replace(fast, timing=replace(fast.timing, prefill_tokens_per_s=8_000 / 3, prefill_step_s=0.06))
    outcomes = VirtualFleet([slow, fast, fast, fast], Router(block_tokens=BLOCK)).play(requests, lambda _done: None)
    tokens: Counter[int] = Counter()
    for request, outcome in zip(requests[300:], outcomes[300:], strict=True):
        tokens[outcome.engine] += request.prompt_tokens
    share = tokens[0] / tokens.total()
    assert 0.03 < share < 0.08  # 0.12 for a router that counts tokens only


def test_a_run_repeats_and_the_seed_matters() -> None:
    """Same seed, same outcomes; another seed, another placement."""

    def workers(seed: int) -> list[int]:
        return [outcome.engine for outcome in play(busy(), "random", engines=4, seed=seed)[1]]

    assert workers(1) == workers(1)
    assert workers(1) != workers(2)


class Spy:
    """A router that counts what it is told and sends everything to the first worker."""

    def __init__(self) -> None:
        self.workers: dict[str, int | None] = {}
        self.calls: Counter[str] = Counter()
        self.last = 0.0

    def add_worker(self, worker: str, *, kv_capacity_tokens: int | None = None, now: float = 0.0) -> None:
        self.workers[worker] = kv_capacity_tokens

    def route(self, blocks: Sequence[int], prompt_tokens: int, now: float, *, session: str | None = None) -> Route:
        self.told("route", now)
        return Route("0", 0, 0, "turn", self.calls["route"])

    def on_first_token(self, route: Route, now: float) -> None:
        self.told("first", now)

    def release(self, route: Route, now: float, **given: Any) -> None:
        self.told("release", now)
        assert given["cached_tokens"] is not None

    def told(self, what: str, now: float) -> None:
        assert now >= self.last, "time goes forward"
        self.last = now
        self.calls[what] += 1


def test_the_router_hears_each_request_three_times_in_order_of_time() -> None:
    """Routed, first token, end: once each, and the clock never goes back."""
    spy = Spy()
    requests = simulated_requests(busy(), BLOCK)
    heard: list[int] = []
    outcomes = VirtualFleet([ENGINE] * 3, spy).play(requests, heard.append)
    assert spy.calls == {"route": 300, "first": 300, "release": 300}
    assert spy.workers == dict.fromkeys("012", ENGINE.pool_tokens)
    assert {outcome.engine for outcome in outcomes} == {0}
    assert heard == [256, 300]
