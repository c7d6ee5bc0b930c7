"""The placement formula that gateway.policies.expected_ttft began with, written down word by word, to compare with.

Block by block, with plain dictionaries, one prefill rate given from outside and no refinement of the gateway: no
bound on crowds, no warm-up, no learned rate, no engine reports. It is a router of its own for the simulation.

    p_w     = pend_w - min(head_w, 0.7 R (now - t_w))
    alpha   = min(40, 1.5 + 4 min_v(pend_v) / R)
    U_w     = tokens(A_w + blocks of r) + nreq_w O + tail(r) + O
    mem_w   = R T_dec max(0, U_w - 0.8 C_w) / U_w
    cost_w  = p_w + alpha new_w + 0.05 U_w + mem_w           argmin; ties: fewest in flight, then by lot
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from gateway.router import Route

WEIGHT = 0.02


@dataclass(slots=True)
class Worker:
    """pinned: block -> [in flight, computed]. lru: the other blocks, oldest first. pending: number -> new."""

    capacity: float
    pinned: dict[int, list[int]] = field(default_factory=dict)
    lru: OrderedDict[int, None] = field(default_factory=OrderedDict)
    pending: dict[int, int] = field(default_factory=dict)
    requests: int = 0
    since: float = 0.0

    def match(self, blocks: Sequence[int]) -> tuple[float, int, int]:
        """Credit in blocks (half where not yet computed), leading blocks known, leading blocks pinned."""
        credit, known, pinned = 0.0, 0, 0
        for block in blocks:
            held = self.pinned.get(block)
            if held is None and block not in self.lru:
                break
            known += 1
            pinned += held is not None
            credit += 1.0 if held is None or held[1] else 0.5
        return credit, known, pinned


@dataclass(slots=True)
class Flight:
    """What is needed when a request ends."""

    blocks: Sequence[int]
    prompt_tokens: int
    known: int
    pinned: int
    first_token_at: float | None = None


class ReferenceFormula:
    """`prefill_rate`: tokens/s of the engines."""

    def __init__(self, *, block_tokens: int, prefill_rate: float, seed: int = 0) -> None:
        self.block = block_tokens
        self.rate = prefill_rate
        self.lots = Random(seed)
        self.workers: dict[str, Worker] = {}
        self.flights: dict[int, Flight] = {}
        self.output = 256.0
        self.decode_s = 8.0
        self.number = 0

    def add_worker(self, worker: str, *, kv_capacity_tokens: int | None = None, now: float = 0.0) -> None:
        """Here the capacity is always known."""
        assert kv_capacity_tokens is not None
        self.workers[worker] = Worker(kv_capacity_tokens, since=now)

    def route(self, blocks: Sequence[int], prompt_tokens: int, now: float, *, session: str | None = None) -> Route:
        """The formula."""
        alpha = min(40.0, 1.5 + 4 * min(sum(w.pending.values()) for w in self.workers.values()) / self.rate)
        costs, matches = {}, {}
        for name, w in self.workers.items():
            credit, known, pinned = match = w.match(blocks)
            new = max(1, prompt_tokens - int(credit * self.block))
            head = next(iter(w.pending.values()), 0)
            p = sum(w.pending.values()) - min(head, 0.7 * self.rate * (now - w.since))
            tail = prompt_tokens - len(blocks) * self.block
            distinct = (len(w.pinned) + len(blocks) - pinned) * self.block
            used = distinct + w.requests * self.output + tail + self.output
            memory = self.rate * self.decode_s * max(0.0, used - 0.8 * w.capacity) / used
            costs[name] = (p + alpha * new + 0.05 * used + memory, w.requests, self.lots.random())
            matches[name] = new, *match
        name = min(costs, key=lambda name: costs[name])
        new, _, known, pinned = matches[name]
        self.number += 1
        self.flights[self.number] = Flight(blocks, prompt_tokens, known, pinned)
        self._dispatch(self.workers[name], blocks, new, now)
        best = max(prompt_tokens - match[0] for match in matches.values())
        return Route(name, prompt_tokens - new, best, "affinity", self.number)

    def on_first_token(self, route: Route, now: float) -> None:
        """The request leaves the queue; its blocks are computed."""
        w, flight = self.workers[route.worker], self.flights[route.number]
        flight.first_token_at = now
        del w.pending[route.number]
        w.since = now
        for block in flight.blocks:
            w.pinned[block][1] = 1

    def release(
        self,
        route: Route,
        now: float,
        *,
        cached_tokens: int | None,
        output_tokens: int,
        output_blocks: Sequence[int] = (),
    ) -> None:
        """Blocks enter the LRU, deepest first; the capacity is corrected; means move."""
        w, flight = self.workers[route.worker], self.flights.pop(route.number)
        assert flight.first_token_at is not None
        assert cached_tokens is not None
        w.requests -= 1
        self.output += WEIGHT * (output_tokens - self.output)
        self.decode_s += WEIGHT * (now - flight.first_token_at - self.decode_s)
        self._correct(w, flight, cached_tokens)
        for block in flight.blocks:
            w.pinned[block][0] -= 1
        for block in reversed([*flight.blocks, *output_blocks]):
            held = w.pinned.get(block)
            if held is None or not held[0]:
                w.pinned.pop(block, None)
                w.lru[block] = None
                w.lru.move_to_end(block)
        self._trim(w)

    def _dispatch(self, w: Worker, blocks: Sequence[int], new: int, now: float) -> None:
        if not w.pending:
            w.since = now
        w.pending[self.number] = new
        w.requests += 1
        for block in blocks:
            held = w.pinned.setdefault(block, [0, int(block in w.lru)])
            held[0] += 1
            w.lru.pop(block, None)
        self._trim(w)

    def _correct(self, w: Worker, flight: Flight, cached_tokens: int) -> None:
        slack = max(2 * self.block, 0.05 * flight.prompt_tokens)
        predicted = min(flight.known * self.block, flight.prompt_tokens - 1)
        if predicted - max(cached_tokens, flight.pinned * self.block) > slack:
            w.capacity *= 0.97
        elif cached_tokens - predicted > slack:
            w.capacity *= 1.03

    def _trim(self, w: Worker) -> None:
        room = (w.capacity - w.requests * self.output) / self.block - len(w.pinned)
        while len(w.lru) > max(0.0, room):
            w.lru.popitem(last=False)
