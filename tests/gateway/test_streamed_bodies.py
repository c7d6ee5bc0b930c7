"""Large uploads on allow-listed paths: sent on as they come, no faster than the engine takes them, and only once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from tests.gateway.fake_engine import Connection, FakeEngine, raw, whole, whole_bytes
from tests.gateway.running import SOON_S, Running, error_of, exchange, request_bytes, running, until

PATH = "/v1/audio/transcriptions"
SETTINGS: dict[str, Any] = {"allow_paths": [PATH], "stream_body_over_bytes": 1000, "poll_interval_s": 60.0}
BODY = bytes(range(256)) * 4000


class Eager(FakeEngine):
    """An engine that looks at connections while a request is still arriving."""

    @property
    def arriving(self) -> int:
        """Bytes of unfinished requests."""
        return sum(len(connection._received) for connection in self.connections)


@asynccontextmanager
async def served(*answers: Any, engines: int = 1, **settings: Any) -> AsyncIterator[tuple[Running, list[Eager]]]:
    """A gateway with the path on its allow-list."""
    fleet = [Eager(*answers) for _ in range(engines)]
    async with AsyncExitStack() as stack:
        for engine in fleet:
            await stack.enter_async_context(engine)
        yield await stack.enter_async_context(running(*fleet, **SETTINGS | settings)), fleet


class Upload:
    """A client that sends a large body bit by bit."""

    def __init__(self, gateway: Running) -> None:
        self._port = gateway.port

    async def begin(self, sent: int) -> None:
        """Send the head and so much of the body."""
        self._reader, self.writer = await asyncio.open_connection("127.0.0.1", self._port)
        request = request_bytes(PATH, BODY)
        self._rest = request[len(request) - len(BODY) + sent :]
        self.writer.write(request[: len(request) - len(self._rest)])

    async def finish(self) -> None:
        """Send the rest of it."""
        self.writer.write(self._rest)
        await self.writer.drain()

    async def answer(self, end: bytes) -> bytes:
        """What is answered, up to these bytes; then it leaves."""
        async with asyncio.timeout(SOON_S):
            got = await self._reader.readuntil(end)
        self.writer.close()
        await asyncio.gather(self.writer.wait_closed(), return_exceptions=True)
        return got


async def test_a_large_upload_arrives_whole_without_being_held() -> None:
    """The engine has its beginning before the client has sent its end; with the client's length and bytes."""
    async with served(whole(b"{}")) as (gateway, (engine,)):
        upload = Upload(gateway)
        await upload.begin(500_000)
        await until(lambda: engine.arriving > 400_000)
        assert gateway.app.proxy._bodies.held == 0
        await upload.finish()
        assert (await upload.answer(b"{}")).startswith(b"HTTP/1.1 200 ")
        (got,) = engine.received
        assert got.body == BODY
        assert dict(got.headers)["content-length"] == str(len(BODY))
        assert (await gateway.last_record()).outcome == "ok"


async def test_small_ones_and_those_of_unknown_length_are_held() -> None:
    """They can be tried again."""
    async with served(whole(b"busy", 503), whole(b"{}"), engines=2) as (gateway, engines):
        for engine in engines:
            engine.answers = engines[0].answers
        assert await gateway.ask(PATH, BODY[:900]) == (200, b"{}")

        async def chunks() -> AsyncIterator[bytes]:
            yield BODY

        engines[0].answers[:0] = [whole(b"busy", 503)]
        async with gateway.http.post(PATH, data=chunks()) as response:
            assert response.status == 200
        assert [got.body for engine in engines for got in engine.received].count(BODY) == 2


async def test_it_is_not_tried_again_once_it_has_begun() -> None:
    """The engine's own answer passes; a refused connection before it has begun still goes elsewhere."""
    async with served(whole(b"busy", 503), engines=2) as (gateway, engines):
        assert await gateway.ask(PATH, BODY) == (503, b"busy")
        assert sum(len(engine.received) for engine in engines) == 1
        for engine in engines:
            engine.answers = [raw(then="reset")]
        status, body = await gateway.ask(PATH, BODY)
        assert (status, error_of(body)["code"]) == (502, "engine_disconnected")
        assert sum(len(engine.received) for engine in engines) == 2
        for engine in engines:
            engine.answers = [whole(b"{}")]
        await engines[0].stop()
        for _ in range(2):
            assert await gateway.ask(PATH, BODY) == (200, b"{}")
        await engines[0].start()


async def test_an_engine_that_does_not_read_slows_the_client() -> None:
    """Buffers stay small whatever is sent, and the engine gets it all in the end."""
    size = 64 << 20
    async with served(whole(b"{}")) as (gateway, (engine,)):
        reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
        writer.write(request_bytes(PATH, b"").replace(b"length: 0", b"length: %d" % size))
        await until(lambda: any(PATH.encode() in connection._received for connection in engine.connections))
        (connection,) = [each for each in engine.connections if PATH.encode() in each._received]
        connection.transport.pause_reading()
        sent = 0
        while sent < size:
            writer.write(bytes(1 << 20))
            try:
                async with asyncio.timeout(0.5):
                    await writer.drain()
            except TimeoutError:
                break
            sent += 1 << 20
        assert sent < size // 2
        connection.transport.abort()
        async with asyncio.timeout(SOON_S):
            assert (await reader.readuntil(b"engine_disconnected")).startswith(b"HTTP/1.1 502 ")
        writer.transport.abort()
        await asyncio.gather(writer.wait_closed(), return_exceptions=True)


async def test_a_client_that_leaves_in_the_middle() -> None:
    """The engine's connection goes with it, its place is free, nobody is blamed."""
    async with served(whole(b"{}")) as (gateway, (engine,)):
        upload = Upload(gateway)
        await upload.begin(500_000)
        await until(lambda: engine.arriving > 0)
        (connection,) = [each for each in engine.connections if each._received]
        upload.writer.transport.abort()
        await asyncio.wait_for(connection.closed.wait(), 1.0)
        record = await gateway.last_record()
        assert (record.status, record.outcome) == (499, "client_disconnect")
        assert gateway.workers[0].ready


async def test_an_upload_that_stops() -> None:
    """408 after body_timeout_s; the engine is not left with half a request."""
    async with served(whole(b"{}"), body_timeout_s=0.3) as (gateway, (engine,)):
        upload = Upload(gateway)
        await upload.begin(500_000)
        assert (await upload.answer(b"request_timeout")).startswith(b"HTTP/1.1 408 ")
        await until(lambda: not engine.arriving or all(c.closed.is_set() for c in engine.connections if c._received))


async def test_an_engine_that_takes_nothing_more() -> None:
    """Bounded by first_byte_timeout_s, however much there is still to send."""
    size = 64 << 20
    async with served(whole(b"{}"), first_byte_timeout_s=0.3) as (gateway, (engine,)):
        reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
        writer.write(request_bytes(PATH, b"").replace(b"length: 0", b"length: %d" % size))
        await until(lambda: engine.arriving > 0)
        for connection in engine.connections:
            connection.transport.pause_reading()
        writer.write(bytes(size))
        async with asyncio.timeout(SOON_S):
            assert (await reader.readuntil(b"engine_timeout")).startswith(b"HTTP/1.1 504 ")
        writer.transport.abort()
        await asyncio.gather(writer.wait_closed(), return_exceptions=True)


@pytest.mark.parametrize("status", [413, 200])
async def test_an_engine_that_answers_before_it_has_read_everything(status: int) -> None:
    """Its answer passes, and its connection serves no other request."""

    async def early(connection: Connection) -> None:
        await connection.send(whole_bytes(b"enough", status))

    async with served(whole(b"{}")) as (gateway, (engine,)):
        upload = Upload(gateway)
        await upload.begin(300_000)
        await until(lambda: engine.arriving > 0)
        (connection,) = [each for each in engine.connections if each._received]
        await early(connection)
        await upload.finish()
        assert (await upload.answer(b"enough")).startswith(b"HTTP/1.1 %d " % status)
        await connection.closed.wait()
        assert await gateway.ask(PATH, b"x") == (200, b"{}")


async def test_a_body_beyond_the_limit_is_refused_before_anything_is_sent() -> None:
    """max_body_bytes bounds these too."""
    async with served(whole(b"{}"), max_body_bytes=2000) as (gateway, (engine,)):
        answer = await exchange(gateway.port, request_bytes(PATH, BODY[:3000], "connection: close"))
        assert answer.startswith(b"HTTP/1.1 413 ")
        assert engine.received == []
