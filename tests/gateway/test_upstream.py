"""gateway.upstream and gateway.http1: pooled connections to engines, and every failure under its name."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gateway.config import Config
from gateway.http1 import EngineFault, FaultKind
from gateway.pool import Response
from gateway.upstream import Upstream, idle_s
from tests.cases import case
from tests.gateway.fake_engine import END, EVENTS_HEAD, Answer, FakeEngine, chunk, raw, whole, whole_bytes
from tests.gateway.running import until

PATH = "/generate"


@asynccontextmanager
async def upstream(**settings: Any) -> AsyncIterator[Upstream]:
    """A client with this configuration."""
    async with Upstream(Config(**settings)) as client:
        yield client


async def read_all(response: Response) -> bytes:
    """The whole body; the connection is given back."""
    parts = []
    try:
        while part := await response.read():
            parts.append(part)
    finally:
        response.close()
    return b"".join(parts)


async def post(client: Upstream, engine: FakeEngine, body: bytes = b"{}") -> tuple[int, bytes]:
    """Status and body of one request."""
    response = await client.post(engine.url, PATH, [(b"x-a", b"1")], body)
    return response.status, await read_all(response)


BODIES: list[tuple[Answer, bytes]] = [
    (whole(b"abc"), b"abc"),
    (whole(b""), b""),
    (raw(EVENTS_HEAD, chunk(b"ab"), chunk(b"c"), END), b"abc"),
    (raw(b"HTTP/1.1 200 OK\r\n\r\nab", b"c", then="close"), b"abc"),
    (raw(b"HTTP/1.0 200 OK\r\n\r\nabc", then="close"), b"abc"),
    (raw(*[bytes((byte,)) for byte in whole_bytes(b"abc")]), b"abc"),
]


@pytest.mark.parametrize("number", range(len(BODIES)))
async def test_every_framing(number: int) -> None:
    """With a length, in chunks, to the end of the connection, byte by byte."""
    answer, body = BODIES[number]
    async with FakeEngine(answer) as engine, upstream() as client:
        for _ in range(2):
            assert await post(client, engine) == (200, body)


@pytest.mark.parametrize("status", [204, 304])
async def test_answers_without_a_body(status: int) -> None:
    """They end with their head, and the connection serves on."""
    async with FakeEngine(raw(b"HTTP/1.1 %d X\r\n\r\n" % status)) as engine, upstream() as client:
        for _ in range(2):
            assert await post(client, engine) == (status, b"")
        assert len(engine.connections) == 1


async def test_what_is_sent() -> None:
    """Host and length are ours, the rest is the caller's; a path of the engine's own comes first."""
    async with FakeEngine(whole(b"")) as engine, upstream() as client:
        response = await client.post(engine.url, PATH + "?a=\xe9", [(b"x-a", b"1"), (b"x-a", b"\xe9")], b"body")
        await read_all(response)
        (got,) = engine.received
        assert got.target == b"/generate?a=\xe9"
        assert got.headers == [
            ("host", f"127.0.0.1:{engine.port}"),
            ("content-length", "4"),
            ("x-a", "1"),
            ("x-a", "\xe9"),
        ]
        engine.pages["/base/health"] = (200, b"here")
        assert await client.get(engine.url + "/base", "/health", timeout_s=5) == (200, b"here")


FAULTS: dict[FaultKind, Answer] = {
    "disconnected": raw(then="close"),
    "invalid": raw(b"garbage\r\n\r\n"),
    "timeout": raw(),
}


@pytest.mark.parametrize("kind", FAULTS)
async def test_faults_before_the_head(kind: FaultKind) -> None:
    """Each has its kind, and its connection is closed."""
    async with FakeEngine(FAULTS[kind]) as engine, upstream(first_byte_timeout_s=0.05) as client:
        with pytest.raises(EngineFault) as caught:
            await post(client, engine)
        assert caught.value.kind == kind
        await engine.received[-1].connection.closed.wait()


async def test_a_long_prefill_after_the_headers() -> None:
    """Until the body's first byte the first byte's limit holds; the limit between two bytes is another one."""

    async def answer(connection: Any) -> None:
        await connection.send(EVENTS_HEAD)
        await asyncio.sleep(0.3)
        await connection.send(chunk(b"abc"))

    async with FakeEngine(answer) as engine, upstream(first_byte_timeout_s=10, read_timeout_s=0.1) as client:
        response = await client.post(engine.url, PATH, [], b"")
        assert await response.read() == b"abc"
        with pytest.raises(EngineFault, match="in time"):
            await response.read()
        response.close()


@pytest.mark.parametrize("kind", FAULTS)
async def test_faults_in_the_body(kind: FaultKind) -> None:
    """What came before is read first, then the fault."""
    head = EVENTS_HEAD + chunk(b"abc")
    answer = {"disconnected": raw(head, then="reset"), "invalid": raw(head + b"zz\r\n"), "timeout": raw(head)}[kind]
    async with FakeEngine(answer) as engine, upstream(read_timeout_s=0.05) as client:
        response = await client.post(engine.url, PATH, [], b"")
        assert await response.read() == b"abc"
        with pytest.raises(EngineFault) as caught:
            await response.read()
        assert (caught.value.kind, response.at_end) == (kind, False)
        response.close()
        await engine.received[-1].connection.closed.wait()


def names(monkeypatch: pytest.MonkeyPatch, **known: list[str]) -> None:
    """From now on these names have these addresses."""
    loop = asyncio.get_running_loop()
    resolve = loop.getaddrinfo

    async def getaddrinfo(host: str, port: int, **more: Any) -> Any:
        if host not in known:
            return await resolve(host, port, **more)
        return [(0, socket.SOCK_STREAM, 6, "", (address, port)) for address in known[host]]

    monkeypatch.setattr(loop, "getaddrinfo", getaddrinfo)


async def test_a_name_with_several_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """`localhost` of a machine with IPv6 and an engine on IPv4 only: the next address is tried."""
    async with FakeEngine(whole(b"abc")) as engine, upstream() as client:
        names(monkeypatch, **{"both.test": ["::1", "127.0.0.1"]})
        response = await client.post(engine.url.replace("127.0.0.1", "both.test"), PATH, [], b"")
        assert await read_all(response) == b"abc"


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("http://127.0.0.1:{port}", "refused"),
        ("http://both.test:{port}", "refused"),
        ("http://name.invalid:1", "unreachable"),
        ("https://{here}", "unreachable"),
    ],
)
async def test_nobody_there(url: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A closed port, at one address or at all of a name's, a name that does not exist, TLS where there is none."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        async with FakeEngine() as engine, upstream(connect_timeout_s=0.5) as client:
            names(monkeypatch, **{"both.test": ["::1", "127.0.0.1"]})
            here = url.format(port=taken.getsockname()[1], here=f"127.0.0.1:{engine.port}")
            with pytest.raises(EngineFault) as caught:
                await client.post(here, PATH, [], b"")
            assert caught.value.kind == kind


async def test_one_connection_serves_one_after_the_other_and_several_at_once() -> None:
    """Kept when the answer was read to its end; as many as there are requests at a time."""
    async with FakeEngine(whole(b"abc")) as engine, upstream() as client:
        for _ in range(3):
            await post(client, engine)
        assert len(engine.connections) == 1
        responses = await asyncio.gather(*(client.post(engine.url, PATH, [], b"") for _ in range(5)))
        assert len(engine.connections) == 5
        for response in responses:
            await read_all(response)
        await asyncio.gather(*(post(client, engine) for _ in range(5)))
        assert len(engine.connections) == 5


async def test_a_body_that_was_not_read_to_its_end_costs_its_connection() -> None:
    """What is left of it must not reach the next request."""
    async with FakeEngine(whole(b"abc")) as engine, upstream() as client:
        response = await client.post(engine.url, PATH, [], b"")
        response.close()
        await engine.connections[0].closed.wait()
        assert await post(client, engine) == (200, b"abc")


async def test_bytes_on_an_idle_connection_cost_it() -> None:
    """An engine that talks unasked (a 408 before it closes) is not answering the next request."""
    async with FakeEngine(whole(b"abc")) as engine, upstream() as client:
        await post(client, engine)
        await engine.connections[0].send(whole_bytes(b"late", 408))
        await engine.connections[0].closed.wait()
        assert await post(client, engine) == (200, b"abc")


async def test_a_removed_engine_keeps_no_connections() -> None:
    """`forget` closes the idle ones."""
    async with FakeEngine(whole(b"abc")) as engine, upstream() as client:
        await post(client, engine)
        client.forget(engine.url)
        await engine.connections[0].closed.wait()
        client.forget("http://nobody")


@pytest.mark.parametrize("number", range(4))
def test_case_54_idle_time_is_below_the_engines(number: int) -> None:
    """A safe setting is kept; one that is not is made so."""
    row = case(54)["input"]["cases"][number]
    ours = idle_s(row["pool_idle_s"], row["engine_keep_alive_s"])
    assert ours < row["engine_keep_alive_s"]
    assert (ours == row["pool_idle_s"]) is case(54)["expected"]["safe"][number]


async def test_connections_go_before_an_engine_with_a_short_keep_alive_closes_them() -> None:
    """What is known of the engine counts more than the setting."""
    async with FakeEngine(whole(b"abc")) as engine, upstream(pool_idle_s=60) as client:
        client.keeps(engine.url, 0.01)
        await post(client, engine)
        await engine.connections[0].closed.wait()


async def test_idle_connections_go() -> None:
    """Also when no further request comes."""
    async with FakeEngine(whole(b"abc")) as engine, upstream(pool_idle_s=0.01) as client:
        await post(client, engine)
        await engine.connections[0].closed.wait()


async def test_get_reads_everything_there_is_to_read() -> None:
    """A page that arrives in pieces is whole; of one without end only so much is taken."""
    page = b"x" * 40_000

    async def in_pieces(connection: Any) -> None:
        await connection.send(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(page))
        for start in range(0, len(page), 10_000):
            await asyncio.sleep(0.005)
            await connection.send(page[start : start + 10_000])

    async with FakeEngine(in_pieces) as engine, upstream() as client:
        assert await client.get(engine.url, PATH, timeout_s=5) == (200, page)
        status, start = await client.get(engine.url, PATH, timeout_s=5, limit=15_000)
        assert (status, start) == (200, page[: len(start)])
        assert 15_000 <= len(start) <= 30_000
        await engine.connections[-1].closed.wait()


@pytest.mark.parametrize("drip", [False, True])
async def test_get_takes_no_longer_than_it_may(drip: bool) -> None:
    """An engine that drips a page is as late as one that says nothing."""

    async def answer(connection: Any) -> None:
        await connection.send(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n" if drip else b"")
        while drip:
            await asyncio.sleep(0.01)
            await connection.send(b"x")

    async with FakeEngine(answer) as engine, upstream() as client:
        with pytest.raises(EngineFault) as caught:
            await client.get(engine.url, PATH, timeout_s=0.1)
        assert caught.value.kind == "timeout"
        await engine.connections[-1].closed.wait()


async def test_a_reader_that_waits_slows_the_engine() -> None:
    """Nothing is read ahead beyond a bound, and everything arrives in the end."""
    sent = 0

    async def answer(connection: Any) -> None:
        nonlocal sent
        await connection.send(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % (64 << 20))
        while sent < 64 << 20:
            await connection.send(bytes(1 << 16))
            sent += 1 << 16

    async with FakeEngine(answer) as engine, upstream() as client:
        response = await client.post(engine.url, PATH, [], b"")
        before = -1
        while before != sent:
            before = sent
            await asyncio.sleep(0.05)
        assert sent < 32 << 20
        assert len(await read_all(response)) == 64 << 20


async def test_leaving_closes_everything() -> None:
    """No connection and no task outlives the client."""
    async with FakeEngine(whole(b"abc")) as engine:
        async with upstream() as client:
            await post(client, engine)
            open_response = await client.post(engine.url, PATH, [], b"")
            assert open_response.status == 200
        await until(lambda: all(connection.closed.is_set() for connection in engine.connections))
        await until(lambda: not [t for t in asyncio.all_tasks() if "_tick" in str(t)])
