"""gateway.protocol: an offer to speak HTTP/2 does not cost the request."""

import asyncio

import msgspec
import pytest

from tests.gateway.fake_engine import FakeEngine, whole
from tests.gateway.running import CHAT, SOON_S, chat, error_of, exchange, request_bytes, running

BODY = msgspec.json.encode(chat("x" * 30_000))
OFFER = ("Connection: Upgrade, HTTP2-Settings", "HTTP2-Settings: AAEAAEAAAAIAAAAB")


@pytest.mark.parametrize("line", ["Upgrade: h2c", "upgrade:h2c", "UPGRADE:  h2c "])
async def test_an_offer_of_h2c_is_a_plain_request(line: str) -> None:
    """As Java's HttpClient sends it: the body arrives whole, the offer goes no further, the next request is read."""
    async with FakeEngine(whole(b"{}")) as engine, running(engine) as gateway:
        last = request_bytes(CHAT, BODY, "connection: close")
        answer = await exchange(gateway.port, request_bytes(CHAT, BODY, *OFFER, line) + last)
        assert answer.count(b"HTTP/1.1 200 ") == 2
        for got in engine.received:
            assert got.body == BODY
            assert not {"upgrade", "http2-settings", "connection"} & {name for name, _ in got.headers}


async def test_an_offer_that_arrives_in_pieces_is_refused() -> None:
    """Never half a request: 400 with what to do, and the connection is closed."""
    request = request_bytes(CHAT, BODY, *OFFER, "Upgrade: h2c")
    cut = request.index(b"Upgrade: h") + 10
    async with FakeEngine(whole(b"{}")) as engine, running(engine) as gateway:
        reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
        writer.write(request[:cut])
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.write(request[cut:])
        async with asyncio.timeout(SOON_S):
            answer = await reader.read()
        writer.close()
        await writer.wait_closed()
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert error_of(answer.partition(b"\r\n\r\n")[2])["code"] == "unsupported_upgrade"
        assert engine.received == []


async def test_the_words_in_a_body_stay() -> None:
    """Only the head of a request is looked at."""
    body = msgspec.json.encode(chat("h2c")) + b"\r\nUpgrade: h2c\r\n"
    async with FakeEngine(whole(b"{}")) as engine, running(engine) as gateway:
        answer = await exchange(gateway.port, request_bytes(CHAT, body, "connection: close"))
        assert answer.startswith(b"HTTP/1.1 4")
        assert engine.received == []
        good = msgspec.json.encode(chat("Upgrade: h2c"))
        assert await gateway.ask(CHAT, good) == (200, b"{}")
        assert engine.received[0].body == good
