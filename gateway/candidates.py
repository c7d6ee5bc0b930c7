"""Which workers may answer a request at all, before the policy chooses among them.

One idea: what only one engine keeps binds a request to that engine; everything else may go to any ready worker of the
model, of those that have the API if not all do.
"""

import asyncio

from gateway.apis import RESPONSES, response_id
from gateway.errors import Refusal
from gateway.http1 import EngineFault
from gateway.identity import CREDENTIALS, Caller
from gateway.prepared import Prepared
from gateway.response_ids import ResponseIds
from gateway.upstream import Headers, Upstream
from gateway.workers import Worker, Workers

LOOK_S = 2.0
"""How long an engine may take to say whether it keeps a response."""


class Candidates:
    """The workers of a fleet, and what is known of the responses they keep."""

    __slots__ = ("_response_ids", "_upstream", "_workers")

    def __init__(self, workers: Workers, response_ids: ResponseIds, upstream: Upstream) -> None:
        self._workers = workers
        self._response_ids = response_ids
        self._upstream = upstream

    async def bind(self, prepared: Prepared, stored: str, caller: Caller, headers: Headers, now: float) -> Prepared:
        """The request, bound to the worker that keeps what it names. Raises Refusal `response_not_found`.

        An id that is not remembered may be from before a restart, or from another replica of the gateway. In open
        mode the engines are asked for it, with the request's credentials, and what none of them knows is theirs to
        refuse; a customer's it cannot be.
        """
        owner = await self._response_ids.seek(stored, now)
        if owner is None and caller.config is None:
            keeper = await self._keeper(stored, [header for header in headers if header[0] in CREDENTIALS])
            if keeper is None:
                return prepared
            self._response_ids.remember(stored, keeper, None, now)
            owner = self._response_ids.owner(stored, now)
        if owner is None or owner.customer != caller.customer or owner.worker not in self._workers:
            raise Refusal("response_not_found", f"no response {stored!r}")
        group = self._workers.models.group_of(owner.worker)
        if group is None:
            return prepared
        model = prepared.model if prepared.api.stored else group.name
        return prepared._replace(worker=owner.worker, group=group, model=model)

    async def _keeper(self, stored: str, headers: Headers) -> str | None:
        path, workers = f"{RESPONSES}/{stored}", [worker for worker in self._workers if worker.ready]
        if len(workers) < 2 or not response_id(path):  # nothing to find out, or no id that an engine gives
            return None
        known = await asyncio.gather(*(self._knows(worker, path, headers) for worker in workers))
        return next((worker.id for worker, knows in zip(workers, known, strict=True) if knows), None)

    async def _knows(self, worker: Worker, path: str, headers: Headers) -> bool:
        try:
            status, _ = await self._upstream.get(worker.url, path, headers, timeout_s=LOOK_S)
        except EngineFault:
            return False
        return status == 200

    def of(self, prepared: Prepared) -> frozenset[str]:
        """Ids of the workers that may answer now; the one that keeps a response whether it is ready or not."""
        if prepared.worker is not None:
            return frozenset((prepared.worker,))
        ready, api = prepared.group.ready, prepared.api
        if prepared.salt is not None:  # an engine that would take no salt would mix customers' caches
            salting = (name for name in ready if api.path in self._workers.get(name).engine.salted_paths)
            ready = frozenset(salting) or ready
        if api.everywhere:
            return ready
        return frozenset(name for name in ready if self._workers.get(name).speaks(api.path)) or ready
