"""The cells of the fault matrix that have a rate, at that rate: an engine at 1 B/s, a client at 1 MB/s.

tests/gateway/test_fault_matrix.py has the same cells in milliseconds; here nothing is sped up, so these are slow.
"""

import asyncio
import socket
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import msgspec
import pytest

from engine_adapter.engine import State
from gateway.serve import bind
from tests.gateway.fake_engine import END, EVENTS_HEAD, Connection, chunk, whole
from tests.gateway.fake_engine import stream as stream_of
from tests.gateway.running import CHAT, chat, request_bytes, until
from tests.gateway.test_fault_matrix import CUT, DONE, OK, Cell, Seen, cell

pytestmark = pytest.mark.slow

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
WHOLE = b'{"choices":[],"m":1}'
EVENT = b"data: {}\n\n"
EVENTS = EVENT + DONE
DRIP_LIMIT_S = 27.0
RATE = 1_000_000
"""Bytes a second of a slow client."""
BODY_BYTES, PIECE_BYTES = 8_000_000, 50_000
BUFFERS_BYTES = 3 << 20
"""Of one request in gateway, engine and client together: two reads of 256 KiB, for a moment in four copies (as they
came, joined, framed, unsent)."""
KEPT_BYTES = 4 << 20
"""Of a whole answer, so that its usage can be read."""


class Drip:
    """Answers with one byte a second. sent: bytes that have left; a stream's go in a chunk each."""

    def __init__(self, data: bytes, *, stream: bool, forever: bool = False) -> None:
        self._data = data
        self._stream = stream
        self._forever = forever
        self.sent = 0

    async def __call__(self, connection: Connection) -> None:
        length = 1000 if self._forever else len(self._data)
        await connection.send(EVENTS_HEAD if self._stream else HEAD % length)
        while self._forever or self.sent < len(self._data):
            await asyncio.sleep(1.0)
            at = self.sent % len(self._data)
            byte = self._data[at : at + 1]
            self.sent += 1
            await connection.send(chunk(byte) if self._stream else byte)
        if self._stream:
            await connection.send(END)


async def behind(here: Cell, drip: Drip, *, stream: bool) -> tuple[bytes, int]:
    """What a client got in the end, and by how many bytes it was behind the engine at most."""
    got, most = b"", 0
    async with here.gateway.post(CHAT, chat(stream=stream)) as response:
        assert response.status == 200
        async for piece in response.content.iter_any():
            got += piece
            most = max(most, drip.sent - len(got))
    return got, most


async def test_an_engine_that_drips_a_byte_a_second() -> None:
    """Streamed and whole: each byte reaches the client as it comes; what never ends is ended by the total limit."""
    drips = {
        (stream, forever): Drip(EVENTS if stream else WHOLE, stream=stream, forever=forever)
        for stream in (False, True)
        for forever in (False, True)
    }
    limits = {"read_timeout_s": 3.0, "first_byte_timeout_s": 3.0, "total_timeout_s": DRIP_LIMIT_S}
    async with cell(*drips.values(), whole(OK), **limits) as here:
        ending: dict[bool, asyncio.Task[tuple[bytes, int]]] = {}
        endless: dict[bool, asyncio.Task[Seen]] = {}
        for number, ((stream, forever), drip) in enumerate(drips.items()):
            if forever:
                endless[stream] = asyncio.ensure_future(here.request(stream, at=2 * DRIP_LIMIT_S))
            else:
                ending[stream] = asyncio.ensure_future(behind(here, drip, stream=stream))
            await until(lambda n=number: len(here.engine.received) > n)
        assert await ending[False] == (WHOLE, 0)
        events, late = await ending[True]
        assert events == EVENTS
        assert late < len(DONE)  # an event is passed on when it is known not to be the usage nobody asked for
        assert here.worker.in_flight == 2
        assert await endless[False] == CUT
        assert await endless[True] == Seen(200, "total_timeout", clean=False)
        await here.nothing_left()
        assert (here.run, here.worker.state, len(here.engine.received)) == (0, State.UP, 4)
        outcomes = sorted((record.outcome, record.error_type) for record in here.gateway.records)
        assert outcomes == [("error", "total_timeout")] * 2 + [("ok", None)] * 2
        assert await here.request(False) == Seen(200)


class Pour:
    """Answers with a large body as fast as it is taken. sent: bytes of it that were."""

    def __init__(self, *, stream: bool) -> None:
        self._stream = stream
        self._piece = b"data: " + b"Z" * (PIECE_BYTES - 8) + b"\n\n"
        self.sent = 0

    async def __call__(self, connection: Connection) -> None:
        small(connection.transport.get_extra_info("socket"), socket.SO_SNDBUF)
        await connection.send(EVENTS_HEAD if self._stream else HEAD % BODY_BYTES)
        piece = chunk(self._piece) if self._stream else self._piece
        while self.sent < BODY_BYTES:
            await connection.send(piece)
            self.sent += PIECE_BYTES
        if self._stream:
            await connection.send(chunk(DONE) + END)


def small(sock: socket.socket, which: int) -> None:
    """A kernel buffer that does not grow, so that it is the programs' pace that shows."""
    sock.setsockopt(socket.SOL_SOCKET, which, PIECE_BYTES)


def narrow_listener(host: str, port: int) -> socket.socket:
    """The gateway's listener; what it accepts inherits its buffer."""
    listener = bind(host, port)
    small(listener, socket.SO_SNDBUF)
    return listener


@asynccontextmanager
async def slow_client(here: Cell) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection whose kernel takes little more than the client reads."""
    sock = socket.socket()
    small(sock, socket.SO_RCVBUF)
    sock.setblocking(False)
    await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", here.gateway.port))
    reader, writer = await asyncio.open_connection(sock=sock, limit=PIECE_BYTES // 2)
    try:
        yield reader, writer
    finally:
        writer.close()
        await writer.wait_closed()


@contextmanager
def traced() -> Iterator[list[int]]:
    """The most bytes that Python held meanwhile of what it was given in this time, once that is over."""
    peak: list[int] = []
    tracemalloc.start()
    try:
        yield peak
        peak.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


async def paced(done: int, began: float) -> None:
    """Wait until so many bytes are due at the rate."""
    await asyncio.sleep(began + done / RATE - asyncio.get_running_loop().time())


@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_that_reads_a_megabyte_a_second(stream: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gets all of it; the engine is slowed to its pace, no limit runs meanwhile, and the gateway holds little."""
    pour = Pour(stream=stream)
    monkeypatch.setattr("tests.gateway.running.bind", narrow_listener)
    async with cell(pour, whole(OK), read_timeout_s=0.4, first_byte_timeout_s=0.4) as here, slow_client(here) as ends:
        reader, writer = ends
        for connection in here.gateway.app.upstream._open:  # one of them takes the request
            small(connection._transport.get_extra_info("socket"), socket.SO_RCVBUF)
        writer.write(request_bytes(CHAT, msgspec.json.encode(chat(stream=stream)), "connection: close"))
        head = await reader.readuntil(b"\r\n\r\n")
        began, size, filled, ahead, last = asyncio.get_running_loop().time(), 0, 0, 0, b""
        with traced() as peak:
            while piece := await reader.read(PIECE_BYTES):
                size, filled, last = size + len(piece), filled + piece.count(b"Z"), piece
                ahead = max(ahead, pour.sent - filled)
                await paced(size, began)
        assert head.startswith(b"HTTP/1.1 200 ")
        assert filled == BODY_BYTES // PIECE_BYTES * (PIECE_BYTES - 8)
        assert last.endswith(DONE + b"\r\n" + END if stream else b"Z\n\n")
        assert ahead < BODY_BYTES // 2
        assert peak[0] < BUFFERS_BYTES + (0 if stream else KEPT_BYTES)
        await here.nothing_left()
        assert (here.run, here.worker.state, here.gateway.records[-1].outcome) == (0, State.UP, "ok")
        assert await here.request(False) == Seen(200)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_that_sends_a_megabyte_a_second(stream: bool) -> None:
    """The engine is asked when the body is there, with all of it; until then none of its limits runs."""
    body = msgspec.json.encode(chat("word " * 400_000, stream=stream))
    answer = stream_of(EVENTS) if stream else whole(OK)
    async with cell(answer, read_timeout_s=0.4, first_byte_timeout_s=0.4) as here, slow_client(here) as ends:
        reader, writer = ends
        request, began = request_bytes(CHAT, body, "connection: close"), asyncio.get_running_loop().time()
        for at in range(0, len(request), PIECE_BYTES):
            writer.write(request[at : at + PIECE_BYTES])
            await paced(at + PIECE_BYTES, began)
            assert not here.engine.received or at + PIECE_BYTES >= len(request)
        assert EVENTS in (got := await reader.read()) or got.endswith(OK)
        (received,) = here.engine.received
        assert len(received.body) >= len(body)
        assert (here.run, here.worker.state, here.gateway.records[-1].outcome) == (0, State.UP, "ok")
