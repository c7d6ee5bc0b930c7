"""gateway.plain_http: an offer to upgrade is ignored, and the request behind it is whole."""

import asyncio

import msgspec
import pytest

from tests.gateway.fake_engine import FakeEngine, whole
from tests.gateway.running import CHAT, Running, chat, running, until

BODY = msgspec.json.encode(chat("hello"))
OFFERS = {
    "h2c": b"connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n",
    "websocket": b"Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nsec-websocket-key: x\r\n",
    "expecting": b"connection: upgrade\r\nupgrade: h2c\r\nexpect: 100-continue\r\n",
}


def request(offer: bytes, *, chunked: bool = False) -> bytes:
    """A chat with an offer."""
    head = b"POST %s HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n%s" % (CHAT.encode(), offer)
    if chunked:
        return head + b"transfer-encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
    return head + b"content-length: %d\r\n\r\n%s" % (len(BODY), BODY)


async def send(gateway: Running, *pieces: bytes, answers: int = 1) -> bytes:
    """What comes back for these pieces on one connection, up to so many answers."""
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    for piece in pieces:
        writer.write(piece)
        await asyncio.sleep(0.001)
    told = b""
    async with asyncio.timeout(5):
        while told.count(b'{"ok":1}') < answers and (more := await reader.read(4096)):
            told += more
    writer.close()
    return told


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("offer", OFFERS)
async def test_an_offer_to_upgrade_is_ignored(offer: str, chunked: bool) -> None:
    """However it is cut and framed, the engine gets the body, without the offer; the connection lives on."""
    data = request(OFFERS[offer], chunked=chunked)
    async with FakeEngine(whole(b'{"ok":1}')) as engine, running(engine) as gateway:
        for cut in (
            0,
            5,
            data.index(b"pgrade"),
            data.index(b"\r\n\r\n") + 2,
            data.index(b"\r\n\r\n") + 4,
            len(data) - 3,
        ):
            told = await send(gateway, data[:cut], data[cut:] + data, answers=2)
            assert told.count(b"HTTP/1.1 200 ") == 2
            assert engine.received[-1].body == BODY
            names = {name for name, _ in engine.received[-1].headers}
            assert names.isdisjoint({"upgrade", "http2-settings", "connection"})


async def test_an_offer_without_a_body_is_ignored_too() -> None:
    """A GET gets its answer."""
    async with FakeEngine(whole(b"{}")) as engine, running(engine) as gateway:
        for offer in OFFERS.values():
            reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
            writer.write(b"GET /health HTTP/1.1\r\nhost: x\r\n" + offer + b"\r\n")
            assert await reader.readuntil(b"\r\n") == b"HTTP/1.1 200 OK\r\n"
            writer.close()


@pytest.mark.parametrize("data", [b"CONNECT x:80 HTTP/1.1\r\nhost: x\r\n\r\n", b"GARBAGE\r\n\r\n"])
async def test_what_is_no_request_is_refused(data: bytes) -> None:
    """400, and the connection is closed."""
    async with FakeEngine(whole(b"{}")) as engine, running(engine) as gateway:
        reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
        writer.write(data)
        assert (await reader.read()).startswith(b"HTTP/1.1 400 ")
        writer.close()
        await until(lambda: engine.received == [])
