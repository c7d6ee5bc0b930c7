"""Every fault of an engine or a client, streamed and not: what the client sees, what is thought of the worker, and
that nothing is left behind: no slot, connection, task or file descriptor."""

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
import pytest

from engine_adapter.engine import State
from tests.gateway.fake_engine import END, EVENTS_HEAD, Answer, Connection, FakeEngine, chunk, raw, whole
from tests.gateway.running import CHAT, SOON_S, Running, chat, request_bytes, running, until

OK = b'{"usage": {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}}}'
EVENT = b'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'
DONE = b"data: [DONE]\n\n"
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n"
CALM = {"poll_interval_s": 60.0, "total_timeout_s": 30.0}
"""No watcher looks at the engine again, so that what happens is the request's doing."""
HANGS = {"first_byte_timeout_s": 0.4, "read_timeout_s": 0.4}
DRIPS = {"read_timeout_s": 0.4, "total_timeout_s": 0.8}


class Seen(NamedTuple):
    """What a client saw. code: of an error body or event. clean: its answer had a proper end."""

    status: int
    code: str | None = None
    clean: bool = True


class Fault(NamedTuple):
    """One row. run: faults in a row counted at the worker afterwards. limits: settings that end it soon."""

    whole: Answer
    stream: Answer
    sees: Seen
    sees_streaming: Seen
    run: int = 1
    limits: Mapping[str, float] = MappingProxyType({})


def drip(head: bytes, data: bytes) -> Answer:
    """Writes byte by byte, for ever, slower than the total limit and faster than the idle limit."""

    async def answer(connection: Connection) -> None:
        await connection.send(head)
        while True:
            for byte in data:
                await asyncio.sleep(0.02)
                await connection.send(b"1\r\n%c\r\n" % byte if b"chunked" in head else bytes((byte,)))

    return answer


def flood(head: bytes, data: bytes) -> Answer:
    """Writes for ever, as fast as it is taken."""

    async def answer(connection: Connection) -> None:
        await connection.send(head)
        while True:
            await connection.send(data)
            await asyncio.sleep(0)

    return answer


def both(answer: Answer, sees: Seen, **more: Any) -> Fault:
    """The same whether streamed or not."""
    return Fault(answer, answer, sees, sees, **more)


BROKEN = Seen(200, "stream_broken", clean=False)
CUT = Seen(200, None, clean=False)
SHORT = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}behind the end"
SHORT_STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n" % len(EVENT)
ENGINE: dict[str, Fault] = {
    "reset before headers": both(raw(then="reset"), Seen(502, "engine_disconnected")),
    "closed in the headers": both(raw(b"HTTP/1.1 200 OK\r\ncont", then="close"), Seen(502, "engine_disconnected")),
    "silence": both(raw(), Seen(504, "engine_timeout"), limits=HANGS),
    "headers then hang": Fault(
        raw(HEAD), raw(EVENTS_HEAD), Seen(504, "engine_timeout"), Seen(504, "engine_timeout"), limits=HANGS
    ),
    "drips its headers": both(
        drip(b"", b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 99), Seen(504, "engine_timeout"), limits=HANGS
    ),
    "a header without an end": both(
        flood(b"HTTP/1.1 200 OK\r\nx: ", b"a" * 65536), Seen(502, "engine_answer_invalid")
    ),
    "headers without an end": both(
        flood(b"HTTP/1.1 200 OK\r\n", b"x: y\r\n" * 999), Seen(502, "engine_answer_invalid")
    ),
    "interim answers without an end": both(
        flood(b"", b"HTTP/1.1 102 Processing\r\n\r\n" * 99), Seen(502, "engine_answer_invalid")
    ),
    "drips its body": Fault(
        drip(HEAD, b" "), drip(EVENTS_HEAD, EVENT), CUT, Seen(200, "total_timeout", clean=False), run=0, limits=DRIPS
    ),
    "dies mid-body": Fault(raw(HEAD, b"{", then="reset"), raw(EVENTS_HEAD, chunk(EVENT), then="reset"), CUT, BROKEN),
    "closes mid-body": Fault(
        raw(HEAD, b"{", then="close"), raw(EVENTS_HEAD, chunk(EVENT), then="close"), CUT, BROKEN
    ),
    "hangs mid-body": Fault(
        raw(HEAD, b"{"), raw(EVENTS_HEAD, chunk(EVENT)), CUT, Seen(200, "engine_timeout", clean=False), limits=HANGS
    ),
    "garbage": both(raw(b"SSH-2.0-OpenSSH_9.6\r\n"), Seen(502, "engine_answer_invalid")),
    "garbage mid-body": Fault(
        raw(HEAD.replace(b"content-length: 100", b"transfer-encoding: chunked"), chunk(b"{"), b"zz\r\n"),
        raw(EVENTS_HEAD, chunk(EVENT), b"zz\r\n"),
        CUT,
        BROKEN,
    ),
    "more than its content-length": Fault(raw(SHORT), raw(SHORT_STREAM + EVENT + DONE), Seen(200), BROKEN, run=0),
    "less than its content-length": Fault(
        raw(HEAD + b"{}", then="close"), raw(SHORT_STREAM + EVENT[:9], then="close"), CUT, BROKEN
    ),
    "ends without [DONE]": Fault(whole(OK), raw(EVENTS_HEAD, chunk(EVENT), END), Seen(200), BROKEN, run=0),
    "400": both(whole(b'{"error":{"code":"bad"}}', 400), Seen(400, "bad"), run=0),
    "429": both(whole(b'{"error":{"code":"slow"}}', 429, ["retry-after: 7"]), Seen(429, "slow"), run=0),
    "500": both(whole(b'{"error":{"code":"oops"}}', 500), Seen(500, "oops")),
    "503": both(whole(b'{"error":{"code":"busy"}}', 503, ["retry-after: 7"]), Seen(503, "busy")),
}


class Cell:
    """A gateway with tiny time limits in front of one engine."""

    def __init__(self, gateway: Running, engine: FakeEngine) -> None:
        self.gateway = gateway
        self.engine = engine
        self.worker = gateway.workers[0]

    async def request(self, stream: bool, *, at: float = SOON_S) -> Seen:
        """One request, and what came of it."""
        body = msgspec.json.encode(chat(stream=stream))
        reader, writer = await asyncio.open_connection("127.0.0.1", self.gateway.port)
        try:
            writer.write(request_bytes(CHAT, body, "connection: close"))
            async with asyncio.timeout(at):
                return seen(await reader.read())
        finally:
            writer.close()
            await writer.wait_closed()

    @property
    def run(self) -> int:
        """Faults in a row counted at the worker."""
        breaker = self.gateway.app.workers.breakers._by_worker.get(self.worker.id)
        return breaker.run if breaker else 0

    async def nothing_left(self) -> None:
        """No slot, no waiting request, no body, no watch, no connection but idle ones."""
        await until(self.gateway.settled)
        upstream = self.gateway.app.upstream
        pools = upstream._pools.values()
        await until(lambda: upstream._open == {connection for pool in pools for connection in pool._idle})
        assert not upstream.watches
        assert self.gateway.app.proxy._bodies.held == 0
        assert self.gateway.app.proxy.dispatch.queued == {}


def seen(answer: bytes) -> Seen:
    """What the bytes of one answer say."""
    head, _, body = answer.partition(b"\r\n\r\n")
    status = int(head.split(b" ", 2)[1])
    length = re.search(rb"content-length: (\d+)", head)
    clean = len(body) == int(length[1]) if length else body.endswith(END)
    code = re.search(rb'"code":"(\w+)"', body)
    return Seen(status, code[1].decode() if code else None, clean)


def descriptors() -> int:
    """Open file descriptors of this process, but for the spare one that libuv keeps for when it runs out of them."""
    return sum(not each.samefile("/dev/null") for each in Path("/proc/self/fd").iterdir() if each.exists())


@asynccontextmanager
async def cell(*answers: Answer, **settings: Any) -> AsyncIterator[Cell]:
    """A cell; at its end nothing may be left, in the gateway and, when that has ended, in the process."""
    tasks, files = asyncio.all_tasks(), descriptors()
    async with FakeEngine(*answers) as engine, running(engine, **CALM | settings) as gateway:
        here = Cell(gateway, engine)
        yield here
        await here.nothing_left()
    await until(lambda: asyncio.all_tasks() <= tasks and descriptors() <= files)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("fault", ENGINE)
async def test_faults_of_an_engine(fault: str, stream: bool) -> None:
    """The right status or event, counted at the worker or not; the next request is served."""
    row = ENGINE[fault]
    async with cell(row.stream if stream else row.whole, whole(OK), **row.limits) as here:
        for connection in here.engine.connections:
            connection.close()  # a fresh one, so that nothing is tried twice
        assert await here.request(stream) == (row.sees_streaming if stream else row.sees)
        await here.nothing_left()
        run = 1 if stream and row.sees_streaming is BROKEN else row.run
        assert (here.run, here.worker.state, len(here.engine.received)) == (run, State.UP, 1)
        assert here.gateway.records[-1].outcome in ("error", "truncated", "ok")
        assert (here.gateway.records[-1].error_type is None) is (here.gateway.records[-1].outcome == "ok")
        assert await here.request(False) == Seen(200)
        await here.nothing_left()
        assert here.run == 0


@asynccontextmanager
async def hanging() -> AsyncIterator[int]:
    """The port of a listener whose backlog is full, so that connecting hangs."""
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        fillers = [socket.socket() for _ in range(4)]
        for each in fillers:
            each.setblocking(False)
            each.connect_ex(("127.0.0.1", port))
        yield port
        for each in fillers:
            each.close()


@pytest.mark.parametrize("stream", [False, True])
async def test_connecting_hangs(stream: bool) -> None:
    """Bounded by connect_timeout_s; it may be up, but it is counted."""
    async with hanging() as port, cell(whole(OK), connect_timeout_s=0.2) as here:
        url, here.worker.url = here.worker.url, f"http://127.0.0.1:{port}"
        assert await here.request(stream) == Seen(503, "no_engine")
        assert (here.run, here.worker.state) == (1, State.UP)
        here.worker.url = url
        assert await here.request(stream) == (Seen(200))


@pytest.mark.parametrize("stream", [False, True])
async def test_connecting_is_refused_and_the_engine_restarts(stream: bool) -> None:
    """Down at once, refused without asking, up again with a clean slate; the request it was killed under is told."""
    answer = raw(EVENTS_HEAD, chunk(EVENT)) if stream else raw(HEAD, b"{")
    async with cell(answer, whole(OK), poll_interval_s=0.02) as here:
        cut_off = asyncio.ensure_future(here.request(stream))
        await until(lambda: bool(here.engine.received))
        await asyncio.sleep(0.02)
        await here.engine.stop()
        assert await cut_off == (BROKEN if stream else CUT)
        for _ in range(3):
            assert await here.request(stream) == Seen(503, "no_engine")
        await until(lambda: here.worker.state is State.DOWN)
        await here.engine.start()
        await here.gateway.ready(1)
        assert here.run == 0
        assert await here.request(False) == Seen(200)


@pytest.mark.parametrize("stream", [False, True])
async def test_all_engines_are_down(stream: bool) -> None:
    """None of several answers: refused at once, and served again as soon as one is back."""
    async with FakeEngine(whole(OK)) as other, cell(whole(OK), poll_interval_s=0.02) as here:
        second = here.gateway.app.health.add(other.url)
        await here.gateway.ready(2)
        await here.engine.stop()
        await other.stop()
        assert await here.request(stream) == Seen(503, "no_engine")
        await until(lambda: here.worker.state is second.state is State.DOWN)
        await here.engine.start()
        await other.start()
        await here.gateway.ready(2)
        assert await here.request(False) == Seen(200)


@pytest.mark.parametrize("stream", [False, True])
async def test_kept_connections_that_close_early(stream: bool) -> None:
    """Unseen by the client, not counted at the worker."""
    answer = raw(EVENTS_HEAD, chunk(EVENT + DONE), END) if stream else whole(OK)
    async with cell(answer, raw(then="close"), answer) as here:
        for _ in range(2):
            assert await here.request(stream) == Seen(200)
        assert (here.run, len(here.engine.received)) == (0, 3)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_that_reads_slowly(stream: bool) -> None:
    """It gets every byte, in its own time; no limit on the engine runs while the client is waited for."""
    event = b"data: " + b"Z" * 60_000 + b"\n\n"
    events = event * 40 + DONE
    answer = raw(EVENTS_HEAD, *[chunk(event)] * 40, chunk(DONE), END) if stream else whole(events)
    async with cell(answer, read_timeout_s=0.4) as here:
        reader, writer = await asyncio.open_connection("127.0.0.1", here.gateway.port, limit=1 << 14)
        writer.write(request_bytes(CHAT, msgspec.json.encode(chat(stream=stream)), "connection: close"))
        got = b""
        while piece := await reader.read(1 << 15):
            got += piece
            await asyncio.sleep(0.005)
        writer.close()
        await writer.wait_closed()
        assert seen(got) == Seen(200)
        assert got.count(b"Z") == 40 * 60_000
        assert (here.run, here.gateway.records[-1].outcome) == (0, "ok")


PHASES: dict[str, tuple[Answer, Answer, int]] = {
    "while its body is read": (whole(OK), whole(OK), 0),
    "while it is queued": (raw(), raw(), 1),
    "before the headers": (raw(), raw(), 1),
    "after the headers": (raw(HEAD), raw(EVENTS_HEAD), 1),
    "mid-body": (raw(HEAD, b"{"), raw(EVENTS_HEAD, chunk(EVENT)), 1),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("phase", PHASES)
async def test_a_client_that_leaves(phase: str, stream: bool) -> None:
    """In every phase: the engine's connection is closed within a second, its place is free, nobody is blamed."""
    row = PHASES[phase]
    queue = {"max_in_flight": 1, "queue_size": 5} if phase == "while it is queued" else {}
    request = request_bytes(CHAT, msgspec.json.encode(chat(stream=stream)))
    async with cell(row[stream], whole(OK), **queue) as here:
        writers = []
        for number in range(2 if queue else 1):
            reader, writer = await asyncio.open_connection("127.0.0.1", here.gateway.port)
            writers.append(writer)
            writer.write(request[:-5] if phase == "while its body is read" else request)
            await until(lambda: here.worker.in_flight == row[2])
            await until(lambda n=number: sum(here.gateway.app.proxy.dispatch.queued.values()) == n)
        await until(lambda: len(here.engine.received) == row[2])
        if phase == "mid-body":
            await reader.readuntil(b"{")
        await asyncio.sleep(0.02)
        for writer in reversed(writers):
            writer.transport.abort()
        async with asyncio.timeout(1.0):
            for request_seen in here.engine.received:
                await request_seen.connection.closed.wait()
            await until(lambda: len(here.gateway.records) == len(writers) and here.gateway.settled())
        assert {(record.status, record.outcome) for record in here.gateway.records} == {(499, "client_disconnect")}
        assert (here.run, here.worker.state, len(here.engine.received)) == (0, State.UP, row[2])
        assert await here.request(False) == Seen(200)


@pytest.mark.parametrize("sent", [0, 10])
async def test_a_body_that_does_not_arrive(sent: int) -> None:
    """408 after body_timeout_s, and the connection is closed; no engine hears of it."""
    request = request_bytes(CHAT, msgspec.json.encode(chat()))
    async with cell(whole(OK), body_timeout_s=0.4) as here:
        reader, writer = await asyncio.open_connection("127.0.0.1", here.gateway.port)
        writer.write(request[: request.index(b"\r\n\r\n") + 4 + sent])
        async with asyncio.timeout(SOON_S):
            assert seen(await reader.read()) == Seen(408, "request_timeout")
        writer.close()
        await writer.wait_closed()
        assert here.engine.received == []
        assert (await here.gateway.last_record()).status == 408
