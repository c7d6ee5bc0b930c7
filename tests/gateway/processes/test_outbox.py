"""gateway.processes.outbox and ledger: what a child served is what its parent counts, or is known to be lost."""

import asyncio
import socket
from unittest import mock

import msgspec

from gateway.access_log import AccessLog
from gateway.misses import Miss, Misses
from gateway.processes import outbox as outboxes
from gateway.processes.ledger import FarParting, Ledger
from gateway.processes.messages import Ended, Finished, Started, ToParent
from gateway.processes.outbox import Outbox
from gateway.processes.wire import Wire
from gateway.shown import Shown
from prefix.causes import Cause
from prefix.record import RequestRecord
from telemetry.aggregate import Aggregate
from telemetry.labels import Labels
from tests.gateway.running import until
from tests.telemetry.conftest import ORDINARY

CAUSE = Cause("clock", "/messages/0/content", 7, None, None)


async def wired() -> tuple[Wire[ToParent], Wire[ToParent]]:
    """Both ends."""
    ours, theirs = socket.socketpair()
    return await Wire.open(ours, ToParent), await Wire.open(theirs, ToParent)


def record(number: int) -> RequestRecord:
    """One of several."""
    return msgspec.structs.replace(ORDINARY, request_id=f"{number:032}")


async def test_what_ended_is_told_in_order_before_what_is_said_next() -> None:
    """In batches; a message on another matter is behind all that ended before it."""
    child, parent = await wired()
    outbox = Outbox(child)
    for number in range(3):
        outbox.finished(record(number), None, None)
    outbox.say(Started())
    outbox.finished(record(3), None, None)
    heard = [await parent.hear() for _ in range(3)]
    assert heard == [
        Finished([Ended(record(number)) for number in range(3)]),
        Started(),
        Finished([Ended(record(3))]),
    ]
    child.close()
    assert await parent.hear() is None
    parent.close()


async def test_a_parent_that_does_not_listen_costs_no_memory() -> None:
    """Beyond the limit requests are lost, and counted once it listens again."""
    child, parent = await wired()
    outbox = Outbox(child)
    with mock.patch.object(outboxes, "MOST_WAITING_BYTES", 1):
        child.say(Finished([Ended(record(0), b"x" * (1 << 20))]))  # more than fits between the two
        for number in range(5):
            outbox.finished(record(number), None, None)
        await parent.hear()
        async with asyncio.timeout(5):
            while child.waiting_bytes:
                await asyncio.sleep(0)
        outbox.finished(record(5), None, None)
        assert await parent.hear() == Finished([Ended(record(5))], lost=5)
    child.close()
    parent.close()


async def test_a_childs_requests_are_counted_as_the_parents_own() -> None:
    """In the aggregate, on the board, among the recent ones; what parted them its child is asked for."""
    aggregate, misses, shown = Aggregate(Labels()), Misses(), Shown()
    ledger = Ledger(aggregate, misses, shown, AccessLog(None))
    parted = msgspec.structs.replace(ORDINARY, uncached_by_reason={"divergent": 9})
    asked: list[str] = []

    def examine(request_id: str) -> tuple[Cause | None, float]:
        asked.append(request_id)
        return CAUSE, 0.001

    ledger.count(Ended(record(1)), examine)
    ledger.count(Ended(parted, parting=(100, 40, 20)), examine)
    assert sum(row.sums.requests for row in aggregate.rows(())) == shown.board.totals().requests == 2
    assert misses.find(record(1).request_id) == Miss(record(1), None)
    miss = misses.find(parted.request_id)
    assert miss is not None
    assert isinstance(miss.parting, FarParting)
    assert (miss.parting.size, miss.parting.shared, miss.parting.recurring) == (100, 40, 20)
    await until(lambda: len(asked) == 1)  # the first at its place is examined unasked
    assert (miss.parting.examine(), asked) == ((CAUSE, 0.001), [parted.request_id] * 2)
    (loss,) = shown.causes.partings.of(("default", "v1"))
    assert (loss.tokens, loss.cause) == (9, CAUSE)
