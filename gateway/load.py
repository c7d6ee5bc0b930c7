"""What one worker has to do, as its router counts it: the state behind a policy's `Candidate`. Pure.

One idea: work is counted in tokens, from the routing decision on. A request is *pending* until its first token; the
engine prefills first come, first served, so since the last first token it has been busy with the oldest pending one,
which is therefore believed to be partly done (at most 0.7 of what the time would allow, and never more than itself).

The engine's own report (`observe`) is the larger evidence, used in one direction only: what it shows *beyond* our own
count at that moment is foreign (other gateways, clients that go around us) and is added. It drains like our own work
and is believed for 10 s. A report below our count changes nothing: requests may be on their way. So nothing changes
before the first report, and a late or a wrong one can make a worker look busier, never idle.
"""

from collections.abc import Sequence
from math import ceil
from typing import Final

import msgspec

from gateway.exact import Exact
from gateway.pace import Pace
from gateway.policies import Candidate
from prefix.index import WorkerIndex

DRAIN: Final = 0.7
"""Believed share of the prefill rate since the last first token."""

FRESH_S: Final = 10.0
"""How long an engine's report is believed, in seconds."""

UNCOMPUTED_CREDIT: Final = 0.5
"""Credit for a block that another request is having computed right now."""

SCALE_LEAST: Final = 1 / 16
SCALE_MOST: Final = 4.0
"""Limits of the correction of a worker's capacity; one of unknown capacity has its share of the index at most."""


class Ask(msgspec.Struct, frozen=True, gc=False):
    """What the candidates of one request share.

    kv_tokens: KV memory it needs where nothing of it is in flight, output included. mean_output: tokens that any
    request generates. prefill_rate: tokens/s. warming: whether this request may warm up a cold worker. pages: the
    keys of its pages (prefix.pages), None where they are not known.
    """

    blocks: Sequence[int]
    prompt_tokens: int
    kv_tokens: float
    mean_output: float
    block_tokens: float
    prefill_rate: float
    now: float
    warming: bool = False
    pages: Sequence[int] | None = None


class Report(msgspec.Struct, frozen=True, gc=False):
    """What an engine reported at a time beyond our own count: prompt tokens waiting, requests, KV tokens."""

    at: float
    waiting: float
    running: int
    kv_tokens: float


class Cold(msgspec.Struct, frozen=True, gc=False):
    """A worker's cache was empty when it had been `given` so many tokens; `tokens` more, or the time, warm it."""

    given: int
    tokens: int
    until: float


class WorkerLoad:
    """One worker: its index, its capacity, its queue.

    kv_capacity: tokens, None when unknown; scale: what `cached_tokens` reports have made of it. in_flight, assigned,
    last_routed: as in `Candidate`. cold: see gateway.warm_up. pace: how fast it is. since: when the queue last moved
    or began. exact: what its KV events say, None without. All reads are free of effects.
    """

    __slots__ = (
        "_head",
        "_pending",
        "_report",
        "assigned",
        "cold",
        "exact",
        "in_flight",
        "index",
        "kv_capacity",
        "last_routed",
        "name",
        "pace",
        "pending_tokens",
        "scale",
        "since",
    )

    def __init__(self, name: str, index: WorkerIndex, kv_capacity: int | None, now: float) -> None:
        self.name = name
        self.index = index
        self.kv_capacity = kv_capacity
        self.scale = 1.0
        self.in_flight = 0
        self.assigned = 0
        self.last_routed = 0
        self.pending_tokens = 0
        self._pending: dict[int, int] = {}
        self._head = 0
        self.since = now
        self._report: Report | None = None
        self.cold: Cold | None = None
        self.exact: Exact | None = None
        self.pace = Pace()

    def coldness(self, now: float) -> float:
        """Share of its warm-up that is still to come: 1 just after it joined, 0 when it is warm."""
        cold = self.cold
        if cold is None or now > cold.until:
            return 0.0
        return max(0.0, 1 - (self.assigned - cold.given) / cold.tokens)

    def candidate(self, ask: Ask) -> Candidate:
        """This worker as the request of `ask` finds it."""
        index, block_tokens, prompt_tokens = self.index, ask.block_tokens, ask.prompt_tokens
        known, computed, pinned = index.match(ask.blocks)
        overlap = int((computed + UNCOMPUTED_CREDIT * (known - computed)) * block_tokens) if known else 0
        told = None
        if self.exact is not None and ask.pages is not None:
            told = self.exact.told(ask.pages, prompt_tokens)
            if self.exact.trusted:
                held = told.cached_tokens / block_tokens
                ahead = max(0.0, pinned - max(computed, held))  # in flight and not computed yet
                overlap = told.cached_tokens + int(UNCOMPUTED_CREDIT * ahead * block_tokens)
                computed = int(held)
                known = max(ceil(held), pinned)
        if overlap >= prompt_tokens:
            overlap = prompt_tokens - 1
        kv_tokens = ask.kv_tokens + (index.pinned - pinned) * block_tokens + self.in_flight * ask.mean_output
        pending: float = self.pending_tokens
        slowness = self.pace.slowness
        wait = 0.0
        if pending:
            wait = self.own_wait(ask.now, ask.prefill_rate / slowness) * slowness
            pending *= slowness
        in_flight = self.in_flight
        report = self._report
        if report is not None and ask.now - report.at <= FRESH_S:
            rate = ask.prefill_rate / slowness
            foreign = slowness * max(0.0, report.waiting - DRAIN * rate * max(0.0, ask.now - report.at))
            pending += foreign
            wait += foreign
            in_flight += report.running
            kv_tokens += report.kv_tokens
        return Candidate(
            self.name,
            overlap,
            prompt_tokens - overlap,
            known,
            pinned,
            pending,
            wait,
            in_flight,
            kv_tokens,
            self.kv_capacity,
            self.assigned,
            self.last_routed,
            self.coldness(ask.now) if ask.warming else 0.0,
            computed,
            slowness,
            len(self._pending),
            told,
        )

    def own_wait(self, now: float, prefill_rate: float) -> float:
        """Tokens dispatched by us that are still to be prefilled."""
        done = DRAIN * prefill_rate * (now - self.since)
        if done >= self._head:
            return self.pending_tokens - self._head
        return self.pending_tokens - done if done > 0 else self.pending_tokens

    def room_blocks(self, mean_output: float, block_tokens: float) -> int:
        """How many blocks the worker can keep that no request in flight uses."""
        capacity = self.index.capacity * block_tokens if self.kv_capacity is None else self.kv_capacity
        room = int((capacity * self.scale - self.in_flight * mean_output) / block_tokens) - self.index.pinned
        return max(0, room)

    def trim(self, mean_output: float, block_tokens: float) -> None:
        """Let the index evict what the worker has no room for."""
        self.index.trim(self.room_blocks(mean_output, block_tokens))

    def full(self, mean_output: float, block_tokens: float) -> bool:
        """Whether the index evicts, so that more than predicted means a larger capacity than believed."""
        return self.index.cached >= 0.9 * self.room_blocks(mean_output, block_tokens)

    def rescale(self, factor: float) -> None:
        """Believe in a capacity this much larger or smaller, within limits."""
        most = 1.0 if self.kv_capacity is None else SCALE_MOST
        self.scale = min(most, max(SCALE_LEAST, self.scale * factor))

    def dispatch(self, number: int, uncached: int, now: float) -> None:
        """Request `number` was routed here."""
        if not self._pending:
            self._head, self.since = uncached, now
        self._pending[number] = uncached
        self.pending_tokens += uncached
        self.assigned += uncached
        self.in_flight += 1
        self.last_routed = number

    def settle(self, number: int, now: float) -> None:
        """Request `number` has its first token, or will never have one; later calls have no effect."""
        uncached = self._pending.pop(number, None)
        if uncached is not None:
            self.pending_tokens -= uncached
            self._head = next(iter(self._pending.values()), 0)
            self.since = now

    def observe(self, report: Report, own_kv_tokens: float, prefill_rate: float) -> None:
        """The engine's own numbers; what our count explains is taken off."""
        own = self.own_wait(report.at, prefill_rate / self.pace.slowness)
        self._report = Report(
            report.at,
            max(0.0, report.waiting - own),
            max(0, report.running - self.in_flight),
            max(0.0, report.kv_tokens - own_kv_tokens),
        )
