"""gateway.router: the contract, the promises about load and affinity, and the public-bug cases 38 to 43."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gateway.policies import scramble
from gateway.router import Route, Router
from prefix.blocks import block_hashes
from prefix.body import parse_body
from prefix.canonical import canonicalize
from prefix.errors import RoutingError
from prefix.tool_view import ToolViews
from prefix.view import prompt_view
from tests.cases import case, wire

BLOCK = 100


def prompt(*parts: object) -> list[int]:
    """Chained hashes of 10 blocks a part: prompts that begin with the same parts share their blocks."""
    return [hash((parts[: i // 10 + 1], i)) for i in range(10 * len(parts))]


def router(*workers: str, policy: str = "expected-ttft", **given: Any) -> Router:
    """A router with these workers, blocks of 100 tokens and unknown capacities."""
    made = Router(policy, block_tokens=BLOCK, **given)
    for worker in workers:
        made.add_worker(worker)
    return made


def send(to: Router, blocks: list[int], now: float = 0.0, **given: Any) -> Route:
    """Route a prompt of these blocks and 5 tokens more."""
    return to.route(blocks, len(blocks) * BLOCK + 5, now, **given)


def serve(to: Router, blocks: list[int], now: float = 0.0, cached: int | None = None, **given: Any) -> Route:
    """Route a prompt and let it end well."""
    route = send(to, blocks, now, **given)
    to.on_first_token(route, now + 0.1)
    to.release(route, now + 1, cached_tokens=cached, output_tokens=50)
    return route


# What a route says


def test_a_prompt_returns_to_its_worker() -> None:
    """The next turn of a conversation goes where the last one was, and says what it expects there."""
    to = router("a", "b", "c")
    first = serve(to, prompt("system", "one"))
    second = send(to, prompt("system", "one", "two"), 10.0)
    assert (first.reason, first.expected_cached_tokens, first.best_fleet_tokens) == ("spread", 0, 0)
    assert second == Route(first.worker, 2000, 2000, "affinity", 2, 20, 20)


def test_the_response_counts_as_held() -> None:
    """Output blocks continue the prompt and are expected with the next turn."""
    to = router("a", "b")
    whole = prompt("system", "question", "answer")
    route = send(to, whole[:20])
    to.release(route, 1.0, cached_tokens=0, output_tokens=1000, output_blocks=whole[20:])
    assert send(to, [*whole, 7], 2.0).expected_cached_tokens == 3000


def test_expected_tokens_stay_below_the_prompt() -> None:
    """The last token is always computed, whatever the blocks cover."""
    to = router("a")
    serve(to, prompt("p"))
    assert to.route(prompt("p"), 950, 5.0).expected_cached_tokens == 949


def test_blocks_in_flight_count_half() -> None:
    """Until the first token a shared prefix is still being computed; after it all of it counts."""
    to = router("a")
    first = send(to, prompt("p"))
    assert send(to, prompt("p", "x")).expected_cached_tokens == 500
    to.on_first_token(first, 1.0)
    assert send(to, prompt("p", "y")).expected_cached_tokens == 1000


def test_a_busy_holder_is_passed_over() -> None:
    """When the holder's queue costs more than computing the prefix again, the prompt goes elsewhere, and says so."""
    to = router("a", "b")
    holder = serve(to, prompt("p")).worker
    for i in range(3):
        send(to, prompt("long", "queue", i, "x", "y"), 10.0, candidates={holder})
    route = send(to, prompt("p", "q"), 10.0)
    assert route.worker != holder
    assert (route.reason, route.expected_cached_tokens, route.best_fleet_tokens) == ("cheaper_elsewhere", 0, 1000)


def test_reasons_without_a_choice() -> None:
    """One candidate is no choice; a holder that is no candidate is named as the reason."""
    to = router("a", "b", "c")
    holder = serve(to, prompt("p")).worker
    others = {"a", "b", "c"} - {holder}
    assert send(to, prompt("p"), 5.0, candidates=others).reason == "holder_excluded"
    alone = send(to, prompt("p"), 5.0, candidates=[holder])
    assert (alone.worker, alone.reason) == (holder, "only_candidate")
    assert send(router("a", "b", policy="round-robin"), prompt("p")).reason == "turn"
    assert send(router("a", "b", policy="least-load"), prompt("p")).reason == "load"


def test_candidates_limit_the_choice() -> None:
    """Only candidates are chosen, absent names are passed over, and none is an error."""
    to = router("a", "b")
    assert {send(to, prompt(i), candidates=["b", "gone"]).worker for i in range(5)} == {"b"}
    for none in ([], ["gone"]):
        with pytest.raises(RoutingError, match="no worker"):
            send(to, prompt("p"), candidates=none)
    with pytest.raises(RoutingError, match="no worker"):
        send(router(), prompt("p"))


# Load


def test_unrelated_prompts_spread_evenly() -> None:
    """80 unrelated prompts, one at a time, on 4 workers: nobody gets more than a quarter and a few."""
    to = router("a", "b", "c", "d")
    served = Counter(serve(to, prompt(i), 10.0 * i).worker for i in range(80))
    assert len(served) == 4
    assert max(served.values()) <= 23


def test_ties_differ_by_seed_only() -> None:
    """The lot is seeded: the same calls give the same workers, another seed another order."""

    def first_choices(seed: int) -> list[str]:
        return [send(router(*"abcdefgh", seed=seed), prompt(i)).worker for i in range(10)] + [
            route.worker
            for to in [router(*"abcdefgh", seed=seed)]
            for route in [send(to, prompt(i)) for i in range(8)]
        ]

    assert first_choices(1) == first_choices(1)
    assert first_choices(1) != first_choices(2)
    assert len({send(router(*"abcd", seed=seed), prompt(0)).worker for seed in range(40)}) == 4


def test_the_queue_drains_on_the_first_token() -> None:
    """A request with a first token is no longer waited for, and time alone drains at most the oldest."""
    to = router("a", "b")
    long = send(to, prompt(*"long prompt"), candidates={"a"})
    assert [send(to, prompt(i), 0.0).worker for i in range(4)] == ["b"] * 4
    to.on_first_token(long, 0.1)
    to.on_first_token(long, 0.2)
    assert send(to, prompt("p"), 0.2).worker == "a"
    slow = router("a")
    queued = [send(slow, prompt(i)) for i in range(3)]
    assert slow._loads["a"].own_wait(1e6, 8000.0) == 2010
    slow.on_first_token(queued[0], 1e6)
    assert slow._loads["a"].own_wait(1e6, 8000.0) == 2010


def test_an_error_frees_the_slot() -> None:
    """A request that failed before its first token leaves no queue, no count and no blocks."""
    to = router("a", "b")
    failed = send(to, prompt("p"))
    to.release(failed, 1.0, cached_tokens=None, output_tokens=0)
    assert to.blocks_held(failed.worker) == 0
    again = send(to, prompt("p"), 2.0)
    assert (again.reason, again.best_fleet_tokens) == ("spread", 0)


def test_reported_load_beyond_our_own_counts() -> None:
    """An engine that others keep busy is avoided while its report is fresh; one below our count changes nothing."""
    to = router("a", "b")
    to.observe("a", 0.0, waiting_uncached_tokens=50_000, running=8, kv_used_tokens=90_000)
    assert [send(to, prompt(i), 0.1).worker for i in range(2)] == ["b", "b"]
    to.observe("b", 0.2, waiting_uncached_tokens=0, running=0, kv_used_tokens=0)
    assert send(to, prompt("x"), 0.2).worker == "b"
    assert send(to, prompt("y"), 30.0).worker == "a"


def test_a_short_answer_needs_less_memory() -> None:
    """max_output_tokens lowers the memory a request is expected to need, never below its prompt."""
    to = router("a", "b")
    for limit in (None, 10_000, 1, 0, -5):
        assert send(to, prompt("p"), max_output_tokens=limit).worker in {"a", "b"}


def test_round_robin_and_least_load_end_to_end() -> None:
    """The comparison policies do what their names say, over the whole life of requests."""
    to = router("a", "b", "c", policy="round-robin")
    turns = [serve(to, prompt("same")).worker for _ in range(9)]
    assert turns[:3] == turns[3:6] == turns[6:]
    assert set(turns) == {"a", "b", "c"}
    to = router("a", "b", "c", policy="least-load")
    routes = [send(to, prompt("same")) for _ in range(9)]
    assert set(Counter(route.worker for route in routes).values()) == {3}
    to.release(routes[0], 1.0, cached_tokens=None, output_tokens=1)
    assert send(to, prompt("same")).worker == routes[0].worker


def test_a_busy_fleet_keeps_prompts_at_home() -> None:
    """The same queue that sends a prompt elsewhere in an idle fleet does not when all have had queues for long."""

    def moves(busy: float) -> bool:
        to = router("a", "b")
        holder = serve(to, prompt("p")).worker
        to._means.busy = busy
        send(to, prompt("queue", 1, 2), 10.0, candidates={holder})
        return send(to, prompt("p", "q"), 10.0).worker != holder

    assert moves(0.1)
    assert not moves(0.9)


# Workers come, go and forget


def test_a_removed_worker_is_never_chosen_and_its_requests_end() -> None:
    """Requests in flight on a worker that left are released as usual, and nothing of it comes back."""
    to = router("a", "b")
    routes = [send(to, prompt("p", i), candidates={"a"}) for i in range(3)]
    to.remove_worker("a")
    assert {send(to, prompt("p", i)).worker for i in range(3)} == {"b"}
    to.on_first_token(routes[0], 1.0)
    for route in routes:
        to.release(route, 2.0, cached_tokens=100, output_tokens=5)
    to.add_worker("a")
    assert to.blocks_held("a") == 0
    assert send(to, prompt("fresh"), 3.0).worker == "a"


def test_a_reset_worker_forgets_what_is_in_flight_too() -> None:
    """A release after the restart does not bring blocks back, and frees the slot."""
    to = router("a")
    route = send(to, prompt("p"))
    to.reset_worker("a")
    to.on_first_token(route, 1.0)
    to.release(route, 2.0, cached_tokens=0, output_tokens=5, output_blocks=[1, 2])
    assert to.blocks_held("a") == 0
    assert send(to, prompt("p"), 3.0).best_fleet_tokens == 0


def test_adding_again_only_sets_the_capacity() -> None:
    """A capacity that becomes known later evicts what it has no room for, and keeps the rest."""
    to = router("a")
    for i in range(4):
        serve(to, prompt(i))
    to.add_worker("a", kv_capacity_tokens=2000)
    assert to.blocks_held("a") == 20
    assert send(to, prompt(3), 5.0).expected_cached_tokens == 1000


def test_requests_in_flight_take_room_from_the_cache() -> None:
    """The cached blocks are limited to the capacity less what is in flight and its expected output."""
    to = Router(block_tokens=BLOCK)
    to.add_worker("a", kv_capacity_tokens=5000)
    for i in range(4):
        serve(to, prompt(i))
    assert to.blocks_held("a") == 40
    send(to, prompt("p", "q"), 9.0)
    assert to.blocks_held("a") == (5000 - to._means.output_tokens) // BLOCK


def test_a_capacity_smaller_than_a_prompt_works() -> None:
    """Nothing is believed to be kept, and requests are placed and end."""
    to = Router(block_tokens=BLOCK)
    to.add_worker("a", kv_capacity_tokens=50)
    serve(to, prompt("p"))
    assert to.blocks_held("a") == 0
    assert send(to, prompt("p"), 5.0).expected_cached_tokens == 0


def test_kv_events_are_exact() -> None:
    """A worker with events holds what they say, also across requests."""
    to = router("a", "b")
    to.on_stored("a", prompt("p"))
    assert send(to, prompt("p", "q"), 1.0).worker == "a"
    to.on_removed("a", prompt("p")[4:])
    assert send(to, prompt("p", "r"), 30.0).best_fleet_tokens >= 400
    assert to.route(prompt("p")[:5], 505, 30.0).best_fleet_tokens <= 504


# Warming up


def fleet_with_talks(talks: int, *late: str) -> Router:
    """Three workers that have served so many conversations of 3,000 tokens, then those that join late."""
    to = router("a", "b", "c")
    for i in range(talks):
        serve(to, prompt(f"talk {i}", 1, 2), 10.0 * i)
    for worker in late:
        to.add_worker(worker, now=1e4)
    return to


def test_a_joined_worker_gets_its_share_of_new_prompts() -> None:
    """A quarter and a few of the unrelated prompts, however much the others have served before."""
    to = fleet_with_talks(60, "d")
    served = Counter(serve(to, prompt(f"new {i}"), 1e4 + i).worker for i in range(80))
    assert 15 <= served["d"] <= 25


def test_a_joined_worker_gets_some_known_prompts_and_no_more() -> None:
    """Some of the next turns of known conversations, at most about one in eight, with the reason warm_up."""
    to = fleet_with_talks(60, "d")
    routes = [serve(to, prompt(f"talk {i % 60}", 1, 2, "on"), 1e4 + i) for i in range(200)]
    warming = [route for route in routes if route.reason == "warm_up"]
    assert 5 <= len(warming) <= 30
    assert {route.worker for route in warming} == {"d"}
    assert all(route.expected_cached_tokens < route.best_fleet_tokens for route in warming)


@pytest.mark.parametrize("how", ["join", "restart"])
def test_warming_up_ends(how: str) -> None:
    """Once it was given as much as the others held, a worker is like the others: nothing is diverted any more."""
    to = fleet_with_talks(60, *(["d"] if how == "join" else []))
    if how == "restart":
        to.reset_worker("c")
    for i in range(400):
        serve(to, prompt(f"filling up {i}"), 1e4 + 0.1 * i)
    known = [serve(to, prompt(f"talk {i % 60}", 1, 2, "on", i), 1.01e4 + i) for i in range(200)]
    assert "warm_up" not in {route.reason for route in known}


def test_a_first_fleet_is_not_cold() -> None:
    """Workers that start together have nothing to catch up with, in whatever order they come."""
    to = fleet_with_talks(0, "d")
    routes = [serve(to, prompt("same"), 10.0 * i) for i in range(100)]
    assert {route.reason for route in routes} == {"spread", "affinity"}


def test_a_long_prompt_is_not_moved_to_warm_somebody_up() -> None:
    """No client waits for more than half a second of prefill for it: 40,000 tokens stay where they are cached."""
    to = router("a", "b")
    long = [hash(("long", i)) for i in range(400)]
    serve(to, long)
    to.add_worker("c", now=5.0)
    assert {serve(to, [*long, i], 5.0 + i).reason for i in range(1, 100)} == {"affinity"}


def test_a_cold_worker_that_leaves_is_forgotten() -> None:
    """Nobody warms up who is not there."""
    to = fleet_with_talks(60, "d")
    to.remove_worker("d")
    routes = [send(to, prompt(f"talk {i % 60}", 1, 2), 1e4 + i) for i in range(100)]
    assert "warm_up" not in {route.reason for route in routes}


# What reports teach


def test_fewer_cached_than_predicted_shrinks_the_capacity() -> None:
    """A worker that keeps less than believed is believed to keep less, and one that keeps more, more."""
    to = Router(block_tokens=BLOCK)
    to.add_worker("a", kv_capacity_tokens=100_000)
    for _ in range(20):
        serve(to, prompt("p"), cached=100)
    load = to._loads["a"]
    assert load.scale == pytest.approx(0.97**19)
    serve(to, prompt("unknown"), cached=900)
    assert load.scale == pytest.approx(0.97**19), "more than predicted of an index that is not full is no evidence"


def test_negative_and_excessive_reports_are_harmless() -> None:
    """A negative count is unknown, one beyond the prompt is all of it; the slot is freed all the same."""
    to = router("a")
    for cached, output in ((-5, -7), (10**9, 3), (None, 0)):
        route = send(to, prompt("p", cached))
        to.release(route, 1.0, cached_tokens=cached, output_tokens=output)
    assert to._loads["a"].in_flight == 0
    assert to._loads["a"].pending_tokens == 0


def test_the_block_ratio_may_change_at_any_time() -> None:
    """The learned ratio converts from the next request on."""
    to = router("a")
    serve(to, prompt("p"))
    to.block_tokens = 120.0
    assert to.block_tokens == 120.0
    assert to.route(prompt("p"), 5000, 5.0).expected_cached_tokens == 1200


# Bad input


def test_release_is_once() -> None:
    """A second release, or one of a route from elsewhere, is an error that changes nothing."""
    to, other = router("a"), router("a")
    route, foreign = send(to, prompt("p")), send(other, prompt("p"))
    to.release(route, 1.0, cached_tokens=0, output_tokens=5)
    held = to.blocks_held("a")
    for wrong in (route, foreign):
        with pytest.raises(RoutingError, match="not in flight"):
            to.release(wrong, 2.0, cached_tokens=0, output_tokens=5)
        to.on_first_token(wrong, 2.0)
    assert to._loads["a"].in_flight == 0
    assert to.blocks_held("a") == held


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda to: to.remove_worker("x"), "unknown worker 'x'"),
        (lambda to: to.reset_worker("x"), "unknown worker 'x'"),
        (lambda to: to.on_stored("x", []), "unknown worker 'x'"),
        (lambda to: to.on_removed("x", []), "unknown worker 'x'"),
        (lambda to: to.blocks_held("x"), "unknown worker 'x'"),
        (
            lambda to: to.observe("x", 0.0, waiting_uncached_tokens=0, running=0, kv_used_tokens=0),
            "unknown worker 'x'",
        ),
        (lambda to: to.route([], -1, 0.0), "prompt_tokens must not be negative"),
        (lambda to: to.add_worker("a", kv_capacity_tokens=0), "kv_capacity_tokens must be 1 or more"),
        (lambda to: setattr(to, "block_tokens", 0.0), "block_tokens must be a positive number"),
        (lambda to: setattr(to, "block_tokens", float("nan")), "block_tokens must be a positive number"),
        (lambda _: Router(block_tokens=-1), "block_tokens must be a positive number"),
        (lambda _: Router(block_tokens=1, index_capacity_blocks=0), "index_capacity_blocks must be 1 or more"),
        (lambda _: Router("expected-tft", block_tokens=1), "did you mean 'expected-ttft'"),
    ],
)
def test_bad_input_is_a_named_error(call: Any, message: str) -> None:
    """Each mistake of a caller is a RoutingError that says which."""
    with pytest.raises(RoutingError, match=message):
        call(router("a"))


def test_an_empty_prompt_is_placed() -> None:
    """No blocks and no tokens count as one token to compute."""
    to = router("a", "b")
    route = to.route([], 0, 0.0, session="s")
    assert (route.expected_cached_tokens, route.reason) == (0, "spread")
    to.release(route, 0.0, cached_tokens=0, output_tokens=0)


def test_a_clock_that_goes_backwards_stands_still() -> None:
    """Times before earlier ones neither fail nor drain queues below zero or above what is there."""
    to = router("a", "b")
    routes = [send(to, prompt(i), 100.0 - 10 * i) for i in range(6)]
    to.observe("a", 90.0, waiting_uncached_tokens=5000, running=1, kv_used_tokens=10)
    send(to, prompt("x"), 5.0)
    for i, route in enumerate(routes):
        to.on_first_token(route, 50.0 - i)
        to.release(route, 20.0 - i, cached_tokens=0, output_tokens=9)
    for load in to._loads.values():
        assert 0 <= load.own_wait(1.0, 8000.0) <= load.pending_tokens


# Properties

NAMES = ("a", "b", "c")
PARTS = st.lists(st.integers(0, 2), max_size=4)


class RouterMachine(RuleBasedStateMachine):
    """Whatever happens in whatever order: bounds hold, and when all has ended nothing is left in flight."""

    @initialize(policy=st.sampled_from(["expected-ttft", "least-load", "round-robin"]), blocks=st.integers(3, 90))
    def start(self, policy: str, blocks: int) -> None:
        self.to = router("a", "b", policy=policy, index_capacity_blocks=blocks)
        self.capacity = blocks
        self.here = {"a", "b"}
        self.flying: list[Route] = []
        self.sent: set[tuple[int, ...]] = set()
        self.now = 0.0

    @rule(parts=PARTS, only=st.sets(st.sampled_from(NAMES)), step=st.floats(-1, 3))
    def route(self, parts: list[int], only: set[str], step: float) -> None:
        self.now += step
        candidates = only or None
        blocks = prompt(*parts)
        if not (self.here & only if only else self.here):
            with pytest.raises(RoutingError):
                send(self.to, blocks, self.now, candidates=candidates)
            return
        route = send(self.to, blocks, self.now, candidates=candidates)
        assert route.worker in (self.here & only if only else self.here)
        assert 0 <= route.expected_cached_tokens <= route.best_fleet_tokens <= len(blocks) * BLOCK
        if not any(parts[:1] == list(sent[:1]) for sent in self.sent):
            assert route.best_fleet_tokens == 0, "a match with nothing that was ever sent"
        self.sent.add(tuple(parts))
        self.flying.append(route)

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def first_token(self, data: st.DataObject) -> None:
        self.to.on_first_token(data.draw(st.sampled_from(self.flying)), self.now)

    @precondition(lambda self: self.flying)
    @rule(
        data=st.data(), cached=st.none() | st.integers(-5, 5000), output=st.integers(-1, 400), tail=st.integers(0, 20)
    )
    def release(self, data: st.DataObject, cached: int | None, output: int, tail: int) -> None:
        route = self.flying.pop(data.draw(st.integers(0, len(self.flying) - 1)))
        blocks = [hash((route.number, i)) for i in range(tail)]
        self.to.release(route, self.now, cached_tokens=cached, output_tokens=output, output_blocks=blocks)

    @rule(name=st.sampled_from(NAMES), capacity=st.none() | st.integers(1, 9000))
    def join(self, name: str, capacity: int | None) -> None:
        self.to.add_worker(name, kv_capacity_tokens=capacity, now=self.now)
        self.here.add(name)

    @precondition(lambda self: self.here)
    @rule(data=st.data(), gone=st.booleans())
    def leave_or_reset(self, data: st.DataObject, gone: bool) -> None:
        name = data.draw(st.sampled_from(sorted(self.here)))
        if gone:
            self.to.remove_worker(name)
            self.here.remove(name)
        else:
            self.to.reset_worker(name)
            assert self.to.blocks_held(name) == 0

    @precondition(lambda self: self.here)
    @rule(data=st.data(), waiting=st.integers(-10, 90_000))
    def observe(self, data: st.DataObject, waiting: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.here)))
        self.to.observe(name, self.now, waiting_uncached_tokens=waiting, running=3, kv_used_tokens=waiting)

    @invariant()
    def bounded(self) -> None:
        if hasattr(self, "to") and self.here:
            loads = self.to._loads.values()
            assert sum(load.index.capacity for load in loads) <= self.capacity
            for load in loads:
                assert len(load.index) <= max(load.index.capacity, load.index.pinned)
                assert load.pending_tokens == sum(load._pending.values()) >= 0

    def teardown(self) -> None:
        for route in getattr(self, "flying", []):
            self.to.release(route, self.now, cached_tokens=None, output_tokens=0)
        if hasattr(self, "to"):
            for load in self.to._loads.values():
                assert (load.in_flight, load.pending_tokens, load.index.pinned) == (0, 0, 0)


TestRouterMachine = RouterMachine.TestCase
TestRouterMachine.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def test_memory_is_bounded_for_unique_prompts() -> None:
    """Unique prompts of any length, more than the index can hold: never more blocks than its capacity."""
    to = router(*"abcd", index_capacity_blocks=2000)
    for i in range(3000):
        serve(to, [scramble(i * 64 + k) for k in range(i % 40)], float(i))
        assert sum(map(to.blocks_held, "abcd")) <= 2000
    assert sum(map(to.blocks_held, "abcd")) > 1000


# Cases from public bug reports


def test_case_38_ranks_are_workers() -> None:
    """One prefix, requests one after the other: with each rank a worker all but the first hit."""
    facts, expected = case(38)["input"], case(38)["expected"]
    ranks = [f"engine@{rank}" for rank in range(facts["dp_size"])]
    for policy, hits in (
        ("expected-ttft", expected["hits_when_pinned_to_one_rank"]),
        ("round-robin", expected["hits_round_robin"]),
    ):
        to = router(*ranks, policy=policy)
        routes = [serve(to, prompt("one"), 5.0 * i) for i in range(facts["sequential_requests_with_one_prefix"])]
        assert sum(route.expected_cached_tokens > 0 for route in routes) == hits


def test_case_39_the_whole_conversation_is_the_key() -> None:
    """The next turn returns to its own worker, not to any that knows the system prompt; tools are part of the key."""
    bodies = case(39)["input"]

    def blocks(name: str) -> list[int]:
        body = parse_body(canonicalize(wire(bodies[name])).body)
        view = prompt_view(body, body.slice("tools"), ToolViews())
        return block_hashes(view.text, view.seed, 8)

    to = Router(block_tokens=2)
    for worker in "abc":
        to.add_worker(worker)
    for name, worker in (("R2", "a"), ("R1", "b"), ("R2", "c")):
        route = to.route(blocks(name), 200, 0.0, candidates={worker})
        to.release(route, 1.0, cached_tokens=0, output_tokens=5)
    for group in case(39)["expected"]["conversation_extends"]:
        route = to.route(blocks(group[1]), 250, 5.0)
        assert (route.worker, route.reason) == ("b", "affinity")
    assert to.route(blocks("R4"), 200, 90.0).worker == "b"
    shared = [to.route(blocks(name), 200, 99.0).best_fleet_tokens for name in ("R3", "R1")]
    assert shared[0] < shared[1] / 2


@pytest.mark.parametrize("first_tokens", [False, True])
@pytest.mark.parametrize("length", [0, 1, 16, 64, 1000])
@pytest.mark.parametrize("tail", [0, 3])
def test_case_41_a_hot_prefix_is_bounded(first_tokens: bool, length: int, tail: int) -> None:
    """One popular prefix, nobody finishes: all workers are used and none gets more than the bound."""
    facts, expected = case(41)["input"], case(41)["expected"]
    workers = [f"w{i}" for i in range(facts["workers"])]
    to = router(*workers)
    served: Counter[str] = Counter()
    for i in range(facts["requests_with_one_prefix"]):
        blocks = [*range(length), *(hash((i, k)) for k in range(tail))]
        route = send(to, blocks, 0.01 * i)
        served[route.worker] += 1
        if first_tokens:
            to.on_first_token(route, 0.01 * i + 0.005)
    assert max(served.values()) <= expected["max_in_flight_any_worker"]
    assert len(served) >= expected["min_workers_used"]


def test_case_42_restart_and_flush_forget() -> None:
    """A restarted or flushed worker has no credit left; load alone decides."""
    expected = case(42)["expected"]
    to = router("w1", "w2")
    blocks = prompt("P")

    def credit(worker: str) -> int:
        probe = send(to, blocks, 3.0, candidates={worker})
        to.release(probe, 3.0, cached_tokens=None, output_tokens=0)
        return probe.expected_cached_tokens

    for event in case(42)["input"]["events"]:
        match event:
            case {"ev": "request", "served_by": worker}:
                serve(to, blocks, candidates={worker})
                assert credit(worker) == 1000
            case {"ev": "restart" | "flush_cache", "worker": worker}:
                to.reset_worker(worker)
            case {"ev": "request", "loads": loads}:
                assert {w: credit(w) for w in loads} == expected[f"credit_before_t{event['t']}"]
                others = [send(to, prompt(w, i), 3.0, candidates={w}) for w, n in loads.items() for i in range(n)]
                route = serve(to, blocks, 3.0)
                assert route.best_fleet_tokens == 0
                if event["t"] == 3:
                    assert expected["route_at_t3"].startswith(route.worker)
                for other in others:
                    to.release(other, 5.0, cached_tokens=0, output_tokens=1)


def test_case_42_measured_misses_forget() -> None:
    """A predicted hit with nothing cached, twice in a row, drops the prompt; an unknown count does not."""
    to = router("w1")
    serve(to, prompt("P"), 0.0, cached=0)
    for i, (cached, left) in enumerate(((0, 1000), (700, 1000), (None, 1000), (0, 1000), (0, 0))):
        assert serve(to, prompt("P"), 10.0 + i, cached=cached).expected_cached_tokens == 1000
        assert to.blocks_held("w1") * BLOCK == left


def test_case_43_the_index_is_bounded_and_keeps_the_hot() -> None:
    """Far more distinct prefixes than entries: the limit holds, the hot prefix stays, nothing but digests is kept."""
    facts = case(43)["input"]
    limit, hot = facts["configured_max_entries"] // 10, prompt("hot")
    to = router("w", index_capacity_blocks=limit)
    for i in range(facts["distinct_prefixes"] // 10):
        serve(to, [scramble(i)], float(i))
        if i % facts["then_requests"]["every"] == 0:
            assert serve(to, hot, i + 0.5).expected_cached_tokens == (1000 if i else 0)
        assert to.blocks_held("w") <= limit
