"""What children's finished requests add up to: fed into the parent's own aggregates, as if it had served them.

The two bodies of a request that parted stay in the child that served it, so that prompts do not travel; what parts
them is asked of it when somebody wants to know. After its end nobody knows any more.
"""

from array import array
from collections.abc import Callable

from gateway.access_log import AccessLog
from gateway.misses import Miss, Misses
from gateway.processes.messages import Ended
from gateway.shown import Shown
from prefix.causes import Cause
from telemetry.aggregate import Aggregate

Examine = Callable[[str], tuple[Cause | None, float]]


class FarParting:
    """A request's parting whose bodies another process has. examine: asks it about a request; blocks."""

    __slots__ = ("_examine", "_request_id", "recurring", "shared", "size")

    bytes = 0

    def __init__(self, request_id: str, numbers: tuple[int, int, int], examine: Examine) -> None:
        self._request_id, self._examine = request_id, examine
        self.size, self.shared, self.recurring = numbers

    def examine(self) -> tuple[Cause | None, float]:
        """As gateway.misses.Parted says; called from a thread of its own."""
        return self._examine(self._request_id)


class Ledger:
    """Counts what children served."""

    def __init__(self, aggregate: Aggregate, misses: Misses, shown: Shown, access_log: AccessLog) -> None:
        self._aggregate, self._misses, self._shown, self._access_log = aggregate, misses, shown, access_log

    def count(self, ended: Ended, examine: Examine) -> None:
        """A request of a child ended. examine: asks that child."""
        record = ended.record
        parting = None if ended.parting is None else FarParting(record.request_id, ended.parting, examine)
        key = self._aggregate.record(record)
        self._misses.keep(record, parting)
        blocks = array("Q", ended.blocks)
        self._shown.count(key, record, ended.view, blocks, ended.size, Miss(record, parting))
        self._access_log.write(record)
