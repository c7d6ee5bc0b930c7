"""What happened to requests, in order, and worked out a moment later, many at once.

One idea: code and tables that only the end of a request needs are cold in the processor's caches by then, and run at
half their speed. So the request path writes down that a request was dispatched, or has ended, and what follows from
it is made of a dozen entries in one go, step by step: first why each of them missed, then all records, all
sums and so on. What an entry teaches depends on those before it, so each step takes them strictly in order, and the
results are those of doing everything at once.

Bounded: after SOON_S, with MOST entries or MOST_BYTES of bodies, all that waits is worked off. Whoever reads what is
made of it calls `flush` first. An entry that fails is told to the event loop, or to whoever called `flush`; those
behind it are taken none the less. For the event loop's thread.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, TypeVar

from gateway.dispatch import Place
from gateway.exchange import Exchange
from gateway.incoming import Scope
from gateway.misses import Miss, Misses
from gateway.prepared import Prepared
from prefix.record import RequestRecord
from telemetry.cells import Key

SOON_S: Final = 0.05
MOST: Final = 16
"""Entries, two for most requests: batches of eight requests cost as little as those of 32, and are sooner done."""
MOST_BYTES: Final = 4 << 20
Entry = TypeVar("Entry")


class Ended:
    """A finished request. wall: seconds since the epoch at its end; now: seconds, monotonic. record, miss: made
    before the steps. key: the labels that it was counted under, for the steps behind the one that counts."""

    __slots__ = ("exchange", "key", "miss", "now", "record", "scope", "wall")
    record: RequestRecord
    miss: Miss
    key: Key

    def __init__(self, exchange: Exchange, scope: Scope, wall: float, now: float) -> None:
        self.exchange, self.scope, self.wall, self.now = exchange, scope, wall, now


Step = Callable[[Ended], None]
"""What is done with each finished request."""


class _Dispatched(NamedTuple):
    exchange: Exchange
    prepared: Prepared
    place: Place


class Journal:
    """misses: told of dispatches and ends. steps: what follows, of all that wait one after the other."""

    def __init__(self, misses: Misses, *steps: Step) -> None:
        self._misses = misses
        self._steps = steps
        self._waiting: list[_Dispatched | Ended] = []
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
        self._due, self._hurried, self._bytes = None, False, 0
        waiting, self._waiting = self._waiting, []
        ended = [entry for entry in waiting if isinstance(entry, Ended)]
        try:
            _each(self._explain, iter(waiting))
        finally:
            _through((self._record, *self._steps), ended)

    def _schedule(self) -> None:
        if self._due is None:
            self._due = asyncio.get_running_loop().call_later(SOON_S, self.flush)
        if not self._hurried and (len(self._waiting) >= MOST or self._bytes >= MOST_BYTES):
            self._due.cancel()
            self._due, self._hurried = asyncio.get_running_loop().call_soon(self.flush), True

    def _explain(self, entry: _Dispatched | Ended) -> None:
        if isinstance(entry, Ended):
            entry.exchange.explain(self._misses)
        else:
            entry.exchange.sight = self._misses.at_dispatch(entry.prepared, entry.place)

    def _record(self, ended: Ended) -> None:
        exchange = ended.exchange
        ended.record = exchange.record(ended.wall, ended.now)
        ended.miss = self._misses.remember(ended.record, exchange.prepared, exchange.explained)


def _through(steps: Sequence[Step], ended: Sequence[Ended]) -> None:
    """One step after the other, each with all."""
    if steps:
        try:
            _each(steps[0], iter(ended))
        finally:
            _through(steps[1:], ended)


def _each(do: Callable[[Entry], object], entries: Iterator[Entry]) -> None:
    """Do it with each; one that fails is told when it was done with those behind it, too."""
    try:
        for entry in entries:
            do(entry)
    except BaseException:
        _each(do, entries)
        raise
