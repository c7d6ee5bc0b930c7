"""One port, many processes: the parent accepts, and hands each connection itself to the child that has the fewest.

Why not let the children accept? With SO_REUSEPORT the kernel picks by a hash of the addresses: a client that keeps
four connections open may have them all at one of four processes, for hours. From one inherited socket whoever wakes
first takes all that wait. Node's cluster hands out connections for the same reason
(https://nodejs.org/api/cluster.html#how-it-works); what each way gives was measured (docs/processes.md). And a child
that ends takes no connection with it that was not its own yet: they wait here.

A connection is passed as a file descriptor (SCM_RIGHTS, unix(7)); the child sees the client's address on it.
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Iterable
from typing import Final, Protocol

_AT_ONCE: Final = 64
"""Connections taken before the loop goes on with something else."""

_BREATH_S: Final = 0.5
_log = logging.getLogger("prefixgate")


class Taker(Protocol):
    """Who serves connections. open: how many of those it was given are."""

    @property
    def open(self) -> int: ...

    def give(self, connection: socket.socket) -> bool:
        """Hand one over; False when it cannot take it now."""


class Doorway:
    """Accepts while it is open and somebody takes. takers: those who do now."""

    def __init__(self, listener: socket.socket, takers: Callable[[], Iterable[Taker]]) -> None:
        self._listener = listener
        self._takers = takers
        self._turn = 0
        self._listening = False

    def open(self) -> None:
        """There is somebody (again) who takes connections."""
        if not self._listening and self._listener.fileno() >= 0:
            self._listening = True
            asyncio.get_running_loop().add_reader(self._listener, self._accept)

    def close(self) -> None:
        """Accept no more: who asks is refused. Those who wait are let in before."""
        if self._listening:
            self._pause()
            self._accept()
        self._listener.close()

    def _pause(self) -> None:
        if self._listening:
            self._listening = False
            asyncio.get_running_loop().remove_reader(self._listener)

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            takers = list(self._takers())
            if not takers:
                self._pause()  # connections wait in the listener's queue until a child is there
                return
            try:
                connection, _ = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as error:  # too many open files, no memory
                _log.error("cannot accept connections: %s", error.strerror)
                self._pause()
                asyncio.get_running_loop().call_later(_BREATH_S, self.open)
                return
            with connection:
                self._give(connection, takers)

    def _give(self, connection: socket.socket, takers: list[Taker]) -> None:
        """To the one with the fewest; of several by turns. Closed when nobody takes it."""
        self._turn += 1
        turn = self._turn % len(takers)
        for taker in sorted(takers[turn:] + takers[:turn], key=lambda taker: taker.open):
            if taker.give(connection):
                return
