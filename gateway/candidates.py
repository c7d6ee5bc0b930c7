"""Which workers may answer a request at all, before the policy chooses among them.

One idea: what only one engine keeps binds a request to that engine; everything else may go to any ready worker of the
model, of those that have the API if not all do.
"""

from gateway.errors import Refusal
from gateway.identity import Caller
from gateway.prepare import Prepared
from gateway.response_ids import ResponseIds
from gateway.workers import Workers


class Candidates:
    """The workers of a fleet, and what is known of the responses they keep."""

    __slots__ = ("_response_ids", "_workers")

    def __init__(self, workers: Workers, response_ids: ResponseIds) -> None:
        self._workers = workers
        self._response_ids = response_ids

    def bind(self, prepared: Prepared, stored: str, caller: Caller, now: float) -> Prepared:
        """The request, bound to the worker that keeps what it names. Raises Refusal `response_not_found`.

        In open mode an engine says itself that it does not know an id: it may know one that we do not.
        """
        owner = self._response_ids.owner(stored, now)
        if owner is None and caller.config is None:
            return prepared
        if owner is None or owner.customer != caller.customer or owner.worker not in self._workers:
            raise Refusal("response_not_found", f"no response {stored!r}")
        group = self._workers.models.group_of(owner.worker)
        return prepared if group is None else prepared._replace(worker=owner.worker, group=group)

    def of(self, prepared: Prepared) -> frozenset[str]:
        """Ids of the workers that may answer now; the one that keeps a response whether it is ready or not."""
        if prepared.worker is not None:
            return frozenset((prepared.worker,))
        ready, api = prepared.group.ready, prepared.api
        if api.everywhere:
            return ready
        return frozenset(name for name in ready if self._workers.get(name).speaks(api.path)) or ready
