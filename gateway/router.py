"""Which worker a request goes to: what each is believed to hold, what each has to do, and a policy that prices both.

One `Router` per base model (adapters and salts live in the block hashes). Synchronous, pure, no locks: the caller
passes the time (seconds, any monotonic origin; a clock that goes backwards stands still). Life of a request:

    route -> on_first_token -> release        release exactly once, after errors and disconnects too

- `route` asks the index of every worker for its overlap, lets the policy price the candidates and takes the cheapest
  (of equals the one with the fewest in flight, then the least work so far, then by seeded lot, so that unrelated
  prompts spread at any load). From that moment on the blocks are pinned and the work is counted there.
- `on_first_token` takes the request off the worker's queue and makes its blocks computed.
- `release` moves the blocks into the worker's LRU and corrects its believed capacity (gateway.flight).

What workers hold is in prefix.index, what they have to do in gateway.load, what a choice costs in gateway.policies.
"""

from collections.abc import Collection, Mapping, Sequence
from math import isfinite

from gateway.flight import Flight, Means, Route
from gateway.load import Ask, Report, WorkerLoad
from gateway.policies import Candidate, Reason, Request, find_policy, scramble
from gateway.warm_up import WarmUps
from prefix.errors import RoutingError
from prefix.index import WorkerIndex

__all__ = ["INDEX_CAPACITY_BLOCKS", "Route", "Router"]

INDEX_CAPACITY_BLOCKS = 1 << 20
"""Blocks remembered over all workers, in equal shares: 134M tokens at 128 a block.

65 MB with long prompts, 174 MB with the shortest (tests/bench/bench_index.py).
"""


class Router:
    """Places requests on workers. policy: one of `gateway.policies.POLICIES`. block_tokens: tokens of one block.

    Raises RoutingError for an unknown policy or worker, a bad number, no candidate, and a release that cannot be.
    """

    def __init__(
        self,
        policy: str = "expected-ttft",
        *,
        block_tokens: float,
        index_capacity_blocks: int = INDEX_CAPACITY_BLOCKS,
        seed: int = 0,
    ) -> None:
        if index_capacity_blocks < 1:
            raise RoutingError(f"index_capacity_blocks must be 1 or more, not {index_capacity_blocks}")
        self.block_tokens = block_tokens
        self._policy = find_policy(policy)
        self._capacity = index_capacity_blocks
        self._seed = seed
        self._loads: dict[str, WorkerLoad] = {}
        self._flights: dict[int, Flight] = {}
        self._means = Means()
        self._warm_ups = WarmUps(seed)
        self._number = 0
        self._now = 0.0

    @property
    def block_tokens(self) -> float:
        """Tokens of one block: exact, or the learned ratio; settable at any time."""
        return self._block_tokens

    @block_tokens.setter
    def block_tokens(self, tokens: float) -> None:
        if not (isfinite(tokens) and tokens > 0):
            raise RoutingError(f"block_tokens must be a positive number, not {tokens}")
        self._block_tokens = tokens

    def add_worker(self, worker: str, *, kv_capacity_tokens: int | None = None, now: float = 0.0) -> None:
        """A worker joined; one that is here keeps what it holds and has this capacity now. None: unknown."""
        if kv_capacity_tokens is not None and kv_capacity_tokens < 1:
            raise RoutingError(f"{worker}: kv_capacity_tokens must be 1 or more, not {kv_capacity_tokens}")
        load = self._loads.get(worker)
        if load is None:
            load = WorkerLoad(worker, WorkerIndex(0), kv_capacity_tokens, now)
            others = self._loads.values()
            load.assigned = sum(other.assigned for other in others) // max(1, len(others))
            self._loads[worker] = load
            self._empty(load, max(now, self._now))
        else:
            load.kv_capacity = kv_capacity_tokens
        self._share_index()

    def remove_worker(self, worker: str) -> None:
        """A worker left; requests still in flight there are released as usual."""
        load = self._loads.pop(self._load(worker).name)
        self._warm_ups.forget(load)
        self._share_index()

    def reset_worker(self, worker: str) -> None:
        """A worker restarted or flushed its cache: its blocks are forgotten, those in flight too."""
        load = self._load(worker)
        load.index = WorkerIndex(load.index.capacity)
        self._empty(load, self._now)

    def blocks_held(self, worker: str) -> int:
        """How many blocks the index has for this worker."""
        return len(self._load(worker).index)

    def holdings(self) -> dict[str, int]:
        """Blocks the index has for each worker; safe to call from another thread."""
        return {load.name: len(load.index) for load in tuple(self._loads.values())}

    @property
    def scales(self) -> dict[str, float]:
        """By what each worker's believed capacity was corrected; settable, those of unknown workers are left."""
        return {load.name: load.scale for load in self._loads.values()}

    @scales.setter
    def scales(self, scales: Mapping[str, float]) -> None:
        for name, scale in scales.items():
            if (load := self._loads.get(name)) is not None:
                load.rescale(scale / load.scale)

    def computed_blocks(self, blocks: Sequence[int]) -> dict[str, int]:
        """How many of these leading blocks each worker is believed to have computed."""
        return {load.name: load.index.match(blocks)[1] for load in self._loads.values()}

    def route(
        self,
        blocks: Sequence[int],
        prompt_tokens: int,
        now: float,
        *,
        max_output_tokens: int | None = None,
        candidates: Collection[str] | None = None,
        session: str | None = None,
    ) -> Route:
        """Choose a worker and count the request as in flight there.

        blocks: chained hashes of the prompt's full blocks. candidates: workers that may be chosen, None for all;
        names that are not here are passed over.
        """
        ask = self._ask(blocks, prompt_tokens, now, max_output_tokens)
        everyone = [load.candidate(ask) for load in self._loads.values()]
        views = everyone if candidates is None else [c for c in everyone if c.worker in candidates]
        if not views:
            raise RoutingError("no worker to choose from")
        number = self._number = self._number + 1
        self._now = now
        means = self._means
        held, busy, _ = _survey(views)
        means.learn_busy(busy / len(views))
        request = Request(
            blocks, ask.prompt_tokens, session, number, self._seed, ask.prefill_rate, means.decode_s, means.busy
        )
        chosen = self._cheapest(self._policy.costs(request, views), views)
        fleet, _, computed = _survey(everyone)
        reason = self._policy.reason or _reason(chosen, held, fleet)
        if len(views) == 1:
            reason = "only_candidate"
        return self._begin(self._loads[chosen.worker], ask, chosen, fleet, reason, computed)

    def adopt(
        self,
        worker: str,
        blocks: Sequence[int],
        prompt_tokens: int,
        now: float,
        *,
        max_output_tokens: int | None = None,
    ) -> Route:
        """Another gateway sent a request to this worker: count it as in flight there, as if it had been routed here.

        now: when that was, perhaps before the last call's. Raises RoutingError for a worker that is not here.
        """
        load, ask = self._load(worker), self._ask(blocks, prompt_tokens, now, max_output_tokens)
        self._number += 1
        return self._begin(load, ask, load.candidate(ask), 0, "only_candidate", 0)

    def on_first_token(self, route: Route, now: float) -> None:
        """The first token arrived; once is enough, and after the release it is too late to matter."""
        flight = self._flights.get(route.number)
        if flight is not None and flight.route is route:
            flight.first_token(now, self._means)

    def release(
        self,
        route: Route,
        now: float,
        *,
        cached_tokens: int | None,
        output_tokens: int,
        output_blocks: Sequence[int] = (),
    ) -> None:
        """The request ended, well or not.

        cached_tokens: as the engine reported; None or negative: unknown; beyond the prompt: all of it. output_blocks:
        chained hashes that continue the prompt's. A request that ended without first token, output or report was not
        computed: blocks that nobody else asked for are forgotten.
        """
        flight = self._flights.get(route.number)
        if flight is None or flight.route is not route:
            raise RoutingError(f"request {route.number} is not in flight on {route.worker}: released before?")
        del self._flights[route.number]
        flight.end(now, self._means, self._block_tokens, cached_tokens, output_tokens, output_blocks)

    def observe(
        self, worker: str, now: float, *, waiting_uncached_tokens: int, running: int, kv_used_tokens: int
    ) -> None:
        """The engine's own load: prompt tokens in its queue, requests running, KV tokens that they use."""
        load = self._load(worker)
        own_kv = load.index.pinned * self._block_tokens + load.in_flight * self._means.output_tokens
        load.observe(Report(now, waiting_uncached_tokens, running, kv_used_tokens), own_kv, self._means.prefill_rate)

    def on_stored(self, worker: str, blocks: Sequence[int]) -> None:
        """KV event: the worker holds these blocks. From the first event on, events replace the prediction."""
        self._load(worker).index.store(blocks)

    def on_removed(self, worker: str, blocks: Sequence[int]) -> None:
        """KV event: the worker evicted these blocks."""
        self._load(worker).index.remove(blocks)

    def _begin(
        self, load: WorkerLoad, ask: Ask, chosen: Candidate, fleet: int, reason: Reason, computed: int
    ) -> Route:
        """The request of this number is in flight. fleet, computed: the most tokens, and blocks, of any worker."""
        number = self._number
        route = Route(load.name, chosen.overlap, fleet, reason, number, chosen.computed_blocks, computed)
        self._flights[number] = Flight(route, load, ask, chosen)
        load.trim(self._means.output_tokens, self._block_tokens)
        return route

    def _load(self, worker: str) -> WorkerLoad:
        load = self._loads.get(worker)
        if load is None:
            raise RoutingError(f"unknown worker {worker!r}")
        return load

    def _empty(self, load: WorkerLoad, now: float) -> None:
        """This worker holds nothing: it warms up to what the others hold on average."""
        held = [len(other.index) for other in self._loads.values() if other is not load]
        self._warm_ups.begin(load, int(sum(held) * self._block_tokens) // max(1, len(held)), now)

    def _share_index(self) -> None:
        """Give each worker its share of the index."""
        for load in self._loads.values():
            load.index.capacity = self._capacity // len(self._loads)
            load.trim(self._means.output_tokens, self._block_tokens)

    def _ask(self, blocks: Sequence[int], prompt_tokens: int, now: float, max_output_tokens: int | None) -> Ask:
        if prompt_tokens < 0:
            raise RoutingError(f"prompt_tokens must not be negative: {prompt_tokens}")
        means = self._means
        output = mean = means.output_tokens
        if max_output_tokens is not None:
            output = min(mean, max(0, max_output_tokens))
        kv_tokens = max(prompt_tokens, len(blocks) * self._block_tokens) + output
        rate, warming = means.prefill_rate, self._warm_ups.draw(self._number + 1, now)
        return Ask(blocks, max(1, prompt_tokens), kv_tokens, mean, self._block_tokens, rate, now, warming)

    def _cheapest(self, costs: Sequence[float], views: Sequence[Candidate]) -> Candidate:
        """The cheapest; of equals the one with the fewest in flight, then the least work so far, then by lot."""
        least = min(costs)
        if costs.count(least) == 1:
            return views[costs.index(least)]
        tied = [c for c, cost in zip(views, costs, strict=True) if cost == least]
        fewest = min([(c.in_flight, c.assigned) for c in tied])
        tied = [c for c in tied if (c.in_flight, c.assigned) == fewest]
        return tied[scramble(self._seed * 0x10001 + self._number) % len(tied)]


def _survey(candidates: Sequence[Candidate]) -> tuple[int, int, int]:
    """The largest overlap, how many have prompts to prefill, and the most blocks that are computed."""
    overlap = pending = computed = 0
    for c in candidates:
        if c.pending > 0:
            pending += 1
        if c.known_blocks:
            if c.overlap > overlap:
                overlap = c.overlap
            if c.computed_blocks > computed:
                computed = c.computed_blocks
    return overlap, pending, computed


def _reason(chosen: Candidate, held: int, fleet: int) -> Reason:
    """held, fleet: the largest overlap of any candidate, of any worker."""
    if not fleet:
        return "spread"
    if chosen.overlap < held:
        return "warm_up" if chosen.cold else "cheaper_elsewhere"
    return "affinity" if held == fleet else "holder_excluded"
