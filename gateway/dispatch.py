"""A request's place at a worker: who may have it, waiting for one with room, giving the place back.

Candidates are the workers that are up (gateway.health), not open (gateway.breaker), not tried yet and below
`max_in_flight`. When all of them are at their limit, or none is up, a request waits in a bounded queue, if there is
one (gateway.queue). Nobody overtakes: while somebody waits, places that come free are given out by the queue alone.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import msgspec

from gateway.breaker import Verdict
from gateway.config import Config
from gateway.errors import Refusal
from gateway.models import ModelGroup
from gateway.prepared import Prepared
from gateway.queue import FairQueue
from gateway.ranks import split_rank
from gateway.router import Route
from gateway.workers import Worker, Workers

_log = logging.getLogger("prefixgate")
_LOOK_S = 0.05
"""How often the queue looks whether a worker came up or out of its breaker; freed places are given out at once."""
_OUTPUT_GUESS = 256
_NOBODY: AbstractSet[str] = frozenset()


@dataclass(slots=True, eq=False)
class _Waiting:
    """A request in the queue; the result is its place."""

    prepared: Prepared
    since: float
    place: asyncio.Future["Place"]

    def refuse(self, refusal: Refusal) -> None:
        """It gets no place; one that was given up in this very moment needs none."""
        if not self.place.done():
            self.place.set_exception(refusal)


class Place(msgspec.Struct, frozen=True):
    """A slot at a worker, taken until `Dispatch.release`. waited_s: seconds in the queue. candidates: workers that
    could have had the request, each DP rank one. rank: the DP rank to tell the engine, None: nothing to tell."""

    worker: Worker
    route: Route
    group: ModelGroup
    waited_s: float = 0.0
    candidates: int = 1
    rank: int | None = None


class Dispatch:
    """Gives out places at workers. able: the workers that are up and can serve a request. in_flight: how many are
    taken."""

    def __init__(self, config: Config, workers: Workers, able: Callable[[Prepared], AbstractSet[str]]) -> None:
        self._workers = workers
        self._able = able
        self._now = time.monotonic
        self._queues: dict[ModelGroup, FairQueue[_Waiting]] = {}
        self._looking: asyncio.TimerHandle | None = None
        self._closed = False
        self.in_flight = 0
        self.configure(config)

    def configure(self, config: Config) -> None:
        """Use other limits from now on."""
        self._workers.breakers.failures, self._workers.breakers.open_s = (
            config.breaker_failures,
            config.breaker_open_s,
        )
        self._limit = config.max_in_flight
        self._capacity = config.queue_size
        self._timeout_s = config.queue_timeout_s
        for queue in self._queues.values():
            queue.capacity = config.queue_size

    @property
    def queued(self) -> dict[str, int]:
        """Requests waiting now, by base model; safe to call from another thread."""
        return {group.name: len(queue) for group, queue in tuple(self._queues.items())}

    def candidates(self, prepared: Prepared, tried: AbstractSet[str] = _NOBODY) -> AbstractSet[str]:
        """Workers that may get this request now."""
        able = self._able(prepared)
        left: AbstractSet[str] = able - tried if tried else able
        left = self._workers.breakers.usable(left, self._now())
        return left if self._limit is None else {name for name in left if self._has_room(name)}

    def another(self, prepared: Prepared, tried: AbstractSet[str]) -> bool:
        """Whether there is a worker that has not been tried, with room now or, where there is a queue, later."""
        return bool(self.candidates(prepared, tried) or (self._capacity and self._able(prepared) - tried))

    def idle(self, prepared: Prepared, tried: AbstractSet[str]) -> bool:
        """Whether a worker has nothing waiting, as far as it tells: one that would not say 429."""
        loads = (self._workers.get(name).load for name in self.candidates(prepared, tried))
        return any(load is None or not load.waiting for load in loads)

    async def place(self, prepared: Prepared, tried: AbstractSet[str]) -> Place:
        """A place at a worker, at once or out of the queue.

        Raises Refusal `no_engine`, `overloaded`, `shutting_down`.
        """
        if self._closed:
            raise Refusal("shutting_down")
        if prepared.group not in self._queues and (candidates := self.candidates(prepared, tried)):
            return self._take(prepared, candidates)
        if self._capacity == 0:
            raise Refusal("overloaded" if self._able(prepared) - tried else "no_engine")
        return await self._wait(prepared)

    def release(
        self, place: Place, verdict: Verdict, *, cached_tokens: int | None = None, output_tokens: int = 0
    ) -> None:
        """The place is free again. verdict: what its request says of the worker; tokens: as the engine reported."""
        worker, group, now = place.worker, place.group, self._now()
        worker.in_flight -= 1
        self.in_flight -= 1
        group.release(place.route, now, cached_tokens=cached_tokens, output_tokens=output_tokens)
        if worker.id in group.workers:
            changed = self._workers.breakers.ended(worker.id, verdict, now, group.workers, in_flight=worker.in_flight)
            if changed is not None:
                _log.warning("worker %s: breaker %s after %s", worker.id, changed, verdict)
        if self._queues:
            self._serve(group)

    def close(self) -> None:
        """The gateway is shutting down: no more places, those who wait are told."""
        self._closed = True
        for queue in self._queues.values():
            for entry in queue.drain():
                entry.refuse(Refusal("shutting_down"))

    def _has_room(self, name: str) -> bool:
        if self._limit is None:
            return True
        worker = self._workers.get(name)
        return worker.in_flight < self._limit * worker.ranks

    def _take(self, prepared: Prepared, candidates: AbstractSet[str], since: float | None = None) -> Place:
        group, now = prepared.group, self._now()
        names = group.names(candidates, prepared.dp_rank)
        route = group.place(
            prepared.blocks,
            prepared.prompt_tokens,
            now,
            max_output_tokens=prepared.max_output_tokens,
            candidates=names,
            session=prepared.identity.session,
        )
        name, rank = split_rank(route.worker)
        worker = self._workers.get(name)
        worker.in_flight += 1
        self.in_flight += 1
        self._workers.breakers.began(worker.id)
        return Place(worker, route, group, 0.0 if since is None else now - since, len(names), rank)

    async def _wait(self, prepared: Prepared) -> Place:
        entry = _Waiting(prepared, self._now(), asyncio.get_running_loop().create_future())
        queue = self._enter(entry)
        try:
            async with asyncio.timeout(self._timeout_s):
                return await entry.place
        except BaseException as error:
            if entry.place.done() and not entry.place.cancelled() and entry.place.exception() is None:
                self.release(entry.place.result(), "neither")  # it came in the very moment it was given up
            if not isinstance(error, TimeoutError):
                raise
            code = "overloaded" if self._able(prepared) else "no_engine"
            raise Refusal(code, f"no engine had room within {self._timeout_s:g} s") from None
        finally:
            self._leave(entry, queue)

    def _enter(self, entry: _Waiting) -> FairQueue[_Waiting]:
        prepared = entry.prepared
        queue = self._queues.get(prepared.group)
        if queue is None:
            queue = self._queues[prepared.group] = FairQueue(self._capacity)
        output = prepared.max_output_tokens if prepared.max_output_tokens is not None else _OUTPUT_GUESS
        out = queue.push(prepared.identity.customer, entry, prepared.prompt_tokens + output)
        if out is not None:
            out.refuse(Refusal("overloaded", "every engine is busy and the queue is full"))
        self._serve(prepared.group)  # those in front may be waiting for workers that this one does not need
        if self._looking is None:
            self._looking = asyncio.get_running_loop().call_later(_LOOK_S, self._look)
        return queue

    def _leave(self, entry: _Waiting, queue: FairQueue[_Waiting]) -> None:
        """Out of the queue, however: with a place, put out, too late, or because the client left."""
        prepared = entry.prepared
        queue.remove(prepared.identity.customer, entry)
        if not queue:
            self._queues.pop(prepared.group, None)

    def _serve(self, group: ModelGroup) -> None:
        """Give what is free to those who wait."""
        queue = self._queues.get(group)
        while queue and (entry := queue.pop(lambda entry: bool(self.candidates(entry.prepared)))) is not None:
            if not entry.place.done():
                entry.place.set_result(self._take(entry.prepared, self.candidates(entry.prepared), entry.since))

    def _look(self) -> None:
        self._looking = None
        for group in tuple(self._queues):
            self._serve(group)
        if self._queues:
            self._looking = asyncio.get_running_loop().call_later(_LOOK_S, self._look)
