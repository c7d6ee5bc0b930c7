"""What a child has to tell its parent, sent a few milliseconds at a time: a batch costs little more than one.

Finished requests are never waited for. When the parent does not take them, further ones are lost once so many bytes
wait, and it is told how many.
"""

import asyncio
import logging
from array import array
from collections import OrderedDict
from typing import Any, Final

from gateway.misses import Miss
from gateway.prepared import Prepared
from gateway.processes.messages import Ended, Finished, Message
from gateway.processes.wire import Wire
from prefix.record import RequestRecord
from telemetry.tree import MOST_BLOCKS

EVERY_S: Final = 0.01
MOST_WAITING_BYTES: Final = 32 << 20
_VERSIONS: Final = 1024
_FIRST: Final = 32
"""So many requests of a version send their prompt's view along, then each that doubles their number: the parent needs
one for the version's opening, but it may not be a label before it was seen often."""
_log = logging.getLogger("prefixgate")


class Outbox:
    """Of one child."""

    def __init__(self, wire: Wire[Any]) -> None:
        self._wire = wire
        self._ended: list[Ended] = []
        self._lost = 0
        self._timer: asyncio.TimerHandle | None = None
        self._seen: OrderedDict[tuple[str, str], int] = OrderedDict()

    def finished(self, record: RequestRecord, prepared: Prepared | None, miss: Miss | None) -> None:
        """A request ended; it is told soon."""
        if self._wire.waiting_bytes > MOST_WAITING_BYTES:
            if not self._lost:
                _log.error("the parent does not take what it is told: requests are not counted")
            self._lost += 1
            return
        self._ended.append(self._entry(record, prepared, miss))
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(EVERY_S, self.flush)

    def say(self, message: Message) -> None:
        """Tell it at once, behind what ended before."""
        self.flush()
        self._wire.say(message)

    def flush(self) -> None:
        """Send what waits."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._ended:
            self._wire.say(Finished(self._ended, self._lost))
            self._ended, self._lost = [], 0

    def _entry(self, record: RequestRecord, prepared: Prepared | None, miss: Miss | None) -> Ended:
        parted = None if miss is None else miss.parting
        parting = None if parted is None else (parted.size, parted.shared, parted.recurring)
        if prepared is None:
            return Ended(record, parting=parting)
        view = prepared.view
        blocks = array("Q", prepared.blocks[:MOST_BLOCKS]).tobytes()
        shown = view if view.stable and self._wants_view(record) else None
        return Ended(record, blocks, len(view.text), shown, parting)

    def _wants_view(self, record: RequestRecord) -> bool:
        key = record.route, record.prompt_version or ""
        seen = self._seen.pop(key, 0) + 1
        self._seen[key] = seen
        if len(self._seen) > _VERSIONS:
            self._seen.popitem(last=False)
        return seen <= _FIRST or not seen & (seen - 1)
