"""One HTTP/1.1 connection to an engine: a request goes out in one write, the answer comes back as it arrives.

A general client library spends more CPU on one request than everything else here together (measured in
tests/bench/README.md), and hides what a proxy must know: whether a connection had been used before, and whether a
byte of the answer has arrived. httptools (llhttp) parses; this file only keeps what it reports. Reading pauses when
nobody takes the bytes, so a slow client slows the engine and not our memory. Framing: RFC 9112.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, cast

import httptools

from prefix.errors import EngineError

FaultKind = Literal["refused", "unreachable", "disconnected", "timeout", "invalid", "unavailable", "busy"]

_HIGH_WATER = 256 << 10
"""Bytes kept unread before reading pauses."""

_LONGEST_HEAD = 256 << 10
"""Bytes of status and headers, those of interim answers too; the parser has no bound of its own."""


class EngineFault(EngineError):
    """The engine did not answer, or not to the end.

    kind: in which way (refused: nobody listens there; unavailable, busy: it said so with a status).
    """

    def __init__(self, kind: FaultKind, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


class Connection(asyncio.Protocol):
    """A connection that carries one request at a time.

    used: it has carried a request before. answered: a byte of the current answer has arrived. deadline: when the
    pool's clock fails whoever waits (None: nobody waits). idle_since: when it became free.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[None] | None = None
        self.used = False
        self.lost = False
        self.idle_since = 0.0
        self.deadline: float | None = None
        self._full = False
        self._reset()

    def _reset(self) -> None:
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)
        self._chunks: list[bytes] = []
        self._size = 0
        self._head_size = 0
        self._paused = False
        self._fault: tuple[FaultKind, str] | None = None  # an exception would hold the frames that hold this
        self._framed = False
        self.headers: list[tuple[bytes, bytes]] = []
        self.status = 0
        self.answered = False
        self.complete = False
        self.keep = False

    def send(self, pieces: Sequence[bytes]) -> None:
        """Write a request (head and body); the answer's state is fresh afterwards."""
        self._reset()
        assert self._transport is not None
        self._transport.writelines(pieces)

    async def pour(self, read: Callable[[], Awaitable[bytes]], patience_s: float) -> None:
        """Write what `read` gives, no faster than the engine takes it, until b"" or until the engine answers.

        patience_s: how long the engine may take nothing.
        """
        assert self._transport is not None
        while piece := await read():
            if self.status or self._fault is not None:
                break
            self._transport.write(piece)
            while self._full and not self.status and self._fault is None:
                await self._wait(self._loop.time() + patience_s)
        else:
            return
        self.keep = False  # it answered before it had been told everything

    async def head(self, deadline: float) -> None:
        """Until status and headers are known. Raises EngineFault."""
        while not self.status and self._fault is None:
            await self._wait(deadline)
        if self._fault is not None and not self.status:
            raise EngineFault(*self._fault)

    async def read(self, deadline: float) -> bytes:
        """What has arrived of the body since the last call, b"" at its end. Raises EngineFault."""
        while not self._chunks and not self.complete and self._fault is None:
            await self._wait(deadline)
        if self._chunks:
            data = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
            self._chunks.clear()
            self._size = 0
            if self._paused:
                self._resume()
            return data
        if self._fault is not None and not self.complete:
            raise EngineFault(*self._fault)
        return b""

    @property
    def at_end(self) -> bool:
        """The whole answer has been read."""
        return self.complete and not self._chunks

    def close(self) -> None:
        """Drop the connection now; the engine sees its client go."""
        self.lost = True
        if self._transport is not None:
            self._transport.abort()

    def fail(self, kind: FaultKind, detail: str) -> None:
        """End the current answer with a fault."""
        if self._fault is None and not self.complete:
            self._fault = kind, detail
        self._wake()

    async def _wait(self, deadline: float) -> None:
        self._waiter = self._loop.create_future()
        self.deadline = deadline
        try:
            await self._waiter
        finally:
            self._waiter = self.deadline = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _resume(self) -> None:
        self._paused = False
        if self._transport is not None and not self.lost:
            self._transport.resume_reading()

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are not its subclasses

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        self._wake()

    def data_received(self, data: bytes) -> None:
        if self.complete:  # nobody asked for these bytes: they must not become the next request's answer
            self.close()
            return
        self.answered = True
        assert self._parser is not None
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self.fail("invalid", f"the answer is not HTTP: {error}")
            self.close()
        if not self.status:
            self._head_size += len(data)
            if self._head_size > _LONGEST_HEAD:
                self.fail("invalid", f"the answer's head is over {_LONGEST_HEAD} bytes")
                self.close()
        if self._size > _HIGH_WATER and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        if exc is None and self.status and not self._framed:
            self.complete = True  # a body without a length ends with the connection
        self.fail("disconnected", str(exc) if exc else "the engine closed the connection")
        self._parser = None  # they hold each other, which only a garbage collection would end

    # httptools' callbacks

    def on_message_begin(self) -> None:
        if self.complete:
            raise EngineFault("invalid", "bytes behind the answer")

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        self._framed = self._framed or name in (b"content-length", b"transfer-encoding")
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        status = self._parser.get_status_code()
        if status < 200:  # 100 Continue and the like: the answer is still to come
            self.headers.clear()
            self._framed = False
            return
        if status > 599:
            raise EngineFault("invalid", f"there is no status {status}")
        self.status = status
        self.keep = self._parser.should_keep_alive()
        self._framed = self._framed or status in (204, 304)
        self._wake()

    def on_body(self, data: bytes) -> None:
        self._chunks.append(data)
        self._size += len(data)
        self._wake()

    def on_message_complete(self) -> None:
        if self.status:
            self.complete = True
            self._wake()
