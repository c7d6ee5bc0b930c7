"""Which worker a request goes to: what each is believed to hold, what each has to do, and a policy that prices both.

One `Router` per base model (adapters and salts live in the block hashes). Synchronous, pure, no locks: the caller
passes the time (seconds, any monotonic origin; one that goes backwards counts as standing still). Life of a request:

    route -> on_first_token -> release        release exactly once, after errors and disconnects too

- `route` asks every candidate's index for the overlap, lets the policy price them, takes the cheapest (ties: fewest
  in flight, least work so far, seeded pseudo-random), pins the blocks there and counts the work.
- `on_first_token` takes the request off the queue and makes its blocks computed.
- `release` unpins, moves the blocks into the worker's LRU, and learns from the reported `cached_tokens`: fewer than
  the LRU part of the prediction shrinks the worker's believed capacity by 3 %, more than predicted while that LRU is
  full grows it by 3 % (a miss of an index that is not full says that others use the engine, not that it is larger);
  a predicted hit of which nothing was cached, twice in a row, is forgotten (the engine restarted or flushed unseen).

Algorithm, constants and measurements: docs/routing.md; gateway/policies/expected_ttft.py for the price.
"""

from collections.abc import Collection, Sequence
from math import isfinite

from gateway.flight import Fleet, Flight, Route
from gateway.load import Ask, Report, WorkerLoad
from gateway.policies import Candidate, Reason, Request, find_policy, scramble
from prefix.errors import RoutingError
from prefix.index import WorkerIndex

__all__ = ["INDEX_CAPACITY_BLOCKS", "Route", "Router"]

INDEX_CAPACITY_BLOCKS = 1 << 20
"""Blocks remembered over all workers, in equal shares: 60 MB, 134M tokens at 128 tokens a block."""

PREFILL_RATE = 8000.0
"""Tokens/s that a worker prefills, until something better is known; only ratios to other tokens depend on it."""


class Router:
    """Places requests on workers. policy: a name in `gateway.policies.POLICIES`. block_tokens: tokens of one block.

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
        self._number = 0
        self._fleet = Fleet()

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
        """A worker joined, or its capacity became known: then it keeps what it holds. None: capacity unknown."""
        if kv_capacity_tokens is not None and kv_capacity_tokens < 1:
            raise RoutingError(f"{worker}: kv_capacity_tokens must be 1 or more, not {kv_capacity_tokens}")
        load = self._loads.get(worker)
        if load is None:
            self._loads[worker] = WorkerLoad(worker, WorkerIndex(0), kv_capacity_tokens, now)
            self._share()
        else:
            load.kv_capacity = kv_capacity_tokens
            self._trim(load)

    def remove_worker(self, worker: str) -> None:
        """A worker left; requests still in flight there are released as usual."""
        self._load(worker)
        del self._loads[worker]
        self._share()

    def reset_worker(self, worker: str) -> None:
        """A worker restarted or flushed its cache: its blocks are forgotten, those in flight too."""
        load = self._load(worker)
        load.index = WorkerIndex(load.index.capacity)

    def blocks_held(self, worker: str) -> int:
        """How many blocks the index has for this worker."""
        return len(self._load(worker).index)

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

        blocks: chained hashes of the prompt's full blocks. candidates: workers that may be chosen (None: all); names
        that are not here are passed over.
        """
        if prompt_tokens < 0:
            raise RoutingError(f"prompt_tokens must not be negative: {prompt_tokens}")
        prompt_tokens = max(1, prompt_tokens)
        ask = self._ask(blocks, prompt_tokens, now, max_output_tokens)
        loads = self._loads.values()
        views = [w.candidate(ask) for w in loads if candidates is None or w.name in candidates]
        if not views:
            raise RoutingError("no worker to choose from")
        number = self._number = self._number + 1
        request = Request(blocks, prompt_tokens, session, number, self._seed, ask.prefill_rate, self._fleet.decode_s)
        chosen = self._cheapest(self._policy.costs(request, views), views)
        held = max([c.overlap for c in views])
        fleet = held
        if len(views) < len(loads):
            fleet = max([w.candidate(ask).overlap for w in loads])
        reason = "only_candidate" if len(views) == 1 else self._policy.reason or _reason(chosen.overlap, held, fleet)
        route = Route(chosen.worker, chosen.overlap, fleet, reason, number)
        load = self._loads[chosen.worker]
        load.dispatch(number, chosen.uncached, now)
        self._flights[number] = Flight(route, load, ask, chosen)
        self._trim(load)
        return route

    def on_first_token(self, route: Route, now: float) -> None:
        """The first token arrived; once is enough, and for a released route it is too late to matter."""
        flight = self._flights.get(route.number)
        if flight is not None and flight.route is route and flight.first_token_at is None:
            flight.first_token(now)

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

        cached_tokens: as the engine reported (None: unknown; a negative one is unknown, one beyond the prompt is all
        of it). output_blocks: chained hashes that continue the prompt's. A request that ended without a first token,
        output or report was not computed: blocks that only it asked for are forgotten.
        """
        flight = self._flights.get(route.number)
        if flight is None or flight.route is not route:
            raise RoutingError(f"request {route.number} on {route.worker} is not in flight: released before?")
        del self._flights[route.number]
        self._fleet.learn(flight, now, output_tokens)
        flight.end(
            now, cached_tokens, output_tokens, output_blocks, block_tokens=self._block_tokens, mean_output=self._fleet.output
        )
        self._trim(flight.load)

    def observe(
        self, worker: str, now: float, *, waiting_uncached_tokens: int, running: int, kv_used_tokens: int
    ) -> None:
        """The engine's own load: prompt tokens in its queue, requests running, KV tokens they use."""
        load = self._load(worker)
        own_kv = load.index.pinned * self._block_tokens + load.in_flight * self._fleet.output
        load.observe(Report(now, waiting_uncached_tokens, running, kv_used_tokens), own_kv, PREFILL_RATE)

    def on_stored(self, worker: str, blocks: Sequence[int]) -> None:
        """KV event: the worker holds these blocks. From the first event on, events replace the prediction."""
        self._load(worker).index.store(blocks)

    def on_removed(self, worker: str, blocks: Sequence[int]) -> None:
        """KV event: the worker evicted these blocks."""
        self._load(worker).index.remove(blocks)

    def _load(self, worker: str) -> WorkerLoad:
        load = self._loads.get(worker)
        if load is None:
            raise RoutingError(f"unknown worker {worker!r}")
        return load

    def _share(self) -> None:
        """Give each worker its share of the index."""
        for load in self._loads.values():
            load.index.capacity = self._capacity // len(self._loads)
            self._trim(load)

    def _trim(self, load: WorkerLoad) -> None:
        load.index.trim(load.room_blocks(self._fleet.output, self._block_tokens))

    def _ask(self, blocks: Sequence[int], prompt_tokens: int, now: float, max_output_tokens: int | None) -> Ask:
        output = mean = self._fleet.output
        if max_output_tokens is not None:
            output = min(mean, max(0, max_output_tokens))
        kv_tokens = max(prompt_tokens, len(blocks) * self._block_tokens) + output
        return Ask(blocks, prompt_tokens, kv_tokens, mean, self._block_tokens, PREFILL_RATE, now)

    def _cheapest(self, costs: Sequence[float], views: Sequence[Candidate]) -> Candidate:
        """The cheapest; of equals the one with the fewest in flight, then the least work so far, then by lot."""
        least = min(costs)
        if costs.count(least) == 1:
            return views[costs.index(least)]
        tied = [c for c, cost in zip(views, costs, strict=True) if cost == least]
        fewest = min([(c.in_flight, c.assigned) for c in tied])
        tied = [c for c in tied if (c.in_flight, c.assigned) == fewest]
        return tied[scramble(self._seed * 0x10001 + self._number) % len(tied)]


def _reason(overlap: int, held: int, fleet: int) -> Reason:
    """overlap: on the chosen worker; held, fleet: the most on any candidate, on any worker."""
    if not fleet:
        return "spread"
    if overlap < held:
        return "cheaper_elsewhere"
    return "affinity" if held == fleet else "holder_excluded"
