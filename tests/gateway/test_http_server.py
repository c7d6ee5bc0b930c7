"""gateway.http_server: a request's head is bounded in size, number and time."""

import asyncio

import msgspec
import pytest

from gateway.apis import MESSAGES
from tests.cases import wire
from tests.gateway.fake_engine import FakeEngine, whole
from tests.gateway.running import CHAT, SOON_S, chat, exchange, request_bytes, running

BODY = wire(chat())


def head_of(answer: bytes) -> tuple[int, bytes]:
    """Status and the rest of what came back."""
    line, _, rest = answer.partition(b"\r\n")
    return int(line.split(b" ")[1]), rest


@pytest.mark.parametrize("path", [CHAT, "/workers", "/health", "/nowhere"])
@pytest.mark.parametrize(
    "headers",
    [
        ["x-a: " + "a" * 5000],
        [f"x-{n}: 1" for n in range(40)],
        ["x-" + "n" * 5000 + ": 1"],
    ],
    ids=["a long value", "many", "a long name"],
)
async def test_a_head_that_is_too_large(path: str, headers: list[str]) -> None:
    """431 with our error, and the connection ends; nothing reaches an engine."""
    async with FakeEngine(whole(b"{}")) as engine, running(engine, max_header_bytes=4096, max_headers=32) as gateway:
        status, rest = head_of(await exchange(gateway.port, request_bytes(path, BODY, *headers)))
        assert status == 431
        assert b"connection: close" in rest
        assert b'"code":"headers_too_large"' in rest
        assert engine.received == []
        fits = [f"x-{n}: {'v' * 50}" for n in range(25)]
        status, _ = head_of(await exchange(gateway.port, request_bytes(CHAT, BODY, *fits, "connection: close")))
        assert status == 200


async def test_a_path_counts_too() -> None:
    """A request line is part of the head."""
    async with running(max_header_bytes=2048) as gateway:
        status, _ = head_of(await exchange(gateway.port, request_bytes("/health?" + "q" * 3000, b"", method="GET")))
        assert status == 431


async def test_a_head_without_an_end_is_cut_off_as_it_comes() -> None:
    """One header that never ends is not collected for ever."""
    async with running(max_header_bytes=4096) as gateway:
        reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
        writer.write(b"POST /health HTTP/1.1\r\nhost: a\r\nx-a: ")
        sent = 0
        async with asyncio.timeout(SOON_S):
            while not reader.at_eof() and sent < 100 << 20:
                writer.write(b"a" * 65536)
                sent += 65536
                try:
                    await writer.drain()
                except OSError:
                    break
        assert sent < 10 << 20
        writer.close()


async def test_a_slow_head_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """408 after a while, also when a byte comes now and then."""
    monkeypatch.setattr("gateway.http_server.HEAD_TIMEOUT_S", 0.2)
    async with running() as gateway:
        reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
        writer.write(b"GET /health HTTP/1.1\r\n")
        async with asyncio.timeout(SOON_S):
            status, rest = head_of(await reader.read())
        assert status == 408
        assert b'"code":"request_timeout"' in rest
        writer.close()


@pytest.mark.parametrize(("path", "expected"), [("/workers", 408), ("/health", 405), ("/nowhere", 404)])
async def test_a_slow_body_is_cut_off_everywhere(path: str, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """After body_timeout_s as it is now: 408, or no more than the end when the answer has left already."""
    monkeypatch.setattr("gateway.http_server.BEHIND_S", 0.0)
    async with running(body_timeout_s=60.0) as gateway:
        gateway.app.reconfigure(msgspec.structs.replace(gateway.app.config, body_timeout_s=0.2))
        reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
        writer.write(request_bytes(path, BODY, "content-type: application/json")[:-5])
        async with asyncio.timeout(SOON_S):
            status, rest = head_of(await reader.read())
        assert status == expected
        assert status != 408 or b"body did not arrive within 0.2 s" in rest
        writer.close()


async def test_where_the_proxy_watches_too_it_is_the_one_that_speaks() -> None:
    """408 in the API's own words, and so it is on record; nothing reached an engine."""
    async with FakeEngine(whole(b"{}")) as engine, running(engine, body_timeout_s=0.2) as gateway:
        async with asyncio.timeout(SOON_S):
            status, rest = head_of(await exchange(gateway.port, request_bytes(MESSAGES, BODY)[:-5]))
        assert status == 408
        assert b'{"type":"error","error":{"type":' in rest
        assert (await gateway.last_record()).status == 408
        assert engine.received == []


async def test_heads_that_fit_pass_on_one_connection() -> None:
    """The bound is of each request, not of a connection; bodies do not count."""
    async with FakeEngine(whole(b"{}")) as engine, running(engine, max_header_bytes=1024) as gateway:
        for _ in range(20):
            assert (await gateway.ask(CHAT, chat("x" * 100_000)))[0] == 200
        many = request_bytes(CHAT, BODY) * 9 + request_bytes(CHAT, BODY, "connection: close")
        assert (await exchange(gateway.port, many)).count(b"HTTP/1.1 200") == 10
