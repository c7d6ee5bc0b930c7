"""What happened to requests, in order, and worked out a moment later, many at once.

One idea: code and tables that only the end of a request needs are cold in the processor's caches by then, and run at
half their speed. So the request path writes down that a request was dispatched, or has ended, and what follows from
it (why it missed, its record, sums, dashboard, log, spans) is made of some dozens of entries in one go. What an entry
teaches depends on all those before it, so they are taken strictly in order: results are those of doing it at once.

Bounded: after SOON_S, with MOST entries or MOST_BYTES of bodies, all that waits is worked off. Whoever reads what is
made of it calls `flush` first. An entry that fails is told to the event loop, or to whoever called `flush`; those
behind it are taken none the less. For the event loop's thread.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from gateway.dispatch import Place
from gateway.exchange import Exchange
from gateway.incoming import Scope
from gateway.misses import Misses
from gateway.prepared import Prepared
from prefix.record import RequestRecord

SOON_S: Final = 0.05
MOST: Final = 48
"""Entries, two for most requests: about 2 ms of work."""
MOST_BYTES: Final = 4 << 20


class Ended(NamedTuple):
    """A finished request. wall: seconds since the epoch at its end; now: seconds, monotonic."""

    exchange: Exchange
    scope: Scope
    wall: float
    now: float


class _Dispatched(NamedTuple):
    exchange: Exchange
    prepared: Prepared
    place: Place


class Journal:
    """misses: told of dispatches and ends. finished: gets each request's record."""

    def __init__(self, misses: Misses, finished: Callable[[RequestRecord, Ended], None]) -> None:
        self._misses = misses
        self._finished = finished
        self._waiting: deque[_Dispatched | Ended] = deque()
        self._bytes = 0
        self._due: asyncio.Handle | None = None
        self._hurried = False

    def __len__(self) -> int:
        """Entries that wait."""
        return len(self._waiting)

    def dispatched(self, exchange: Exchange, prepared: Prepared, place: Place) -> None:
        """A request goes to this place now."""
        self._waiting.append(_Dispatched(exchange, prepared, place))
        self._schedule()

    def ended(self, exchange: Exchange, scope: Scope, wall: float, now: float) -> None:
        """A request is over; nothing of the exchange changes any more."""
        self._waiting.append(Ended(exchange, scope, wall, now))
        self._bytes += len(exchange.raw)
        self._schedule()

    def flush(self) -> None:
        """Work off all that waits."""
        if self._due is not None:
            self._due.cancel()
        self._due, self._hurried = None, False
        waiting = self._waiting
        try:
            while waiting:
                self._take(waiting.popleft())
        finally:
            if waiting:  # one failed: the rest must not wait for the next request
                self._schedule()
            else:
                self._bytes = 0

    def _schedule(self) -> None:
        if self._due is None:
            self._due = asyncio.get_running_loop().call_later(SOON_S, self.flush)
        if not self._hurried and (len(self._waiting) >= MOST or self._bytes >= MOST_BYTES):
            self._due.cancel()
            self._due, self._hurried = asyncio.get_running_loop().call_soon(self.flush), True

    def _take(self, entry: _Dispatched | Ended) -> None:
        exchange, misses = entry.exchange, self._misses
        if isinstance(entry, _Dispatched):
            exchange.sight = misses.at_dispatch(entry.prepared, entry.place)
            return
        exchange.explain(misses)
        record = exchange.record(entry.wall, entry.now)
        misses.remember(record, exchange.prepared, exchange.explained)
        self._finished(record, entry)
