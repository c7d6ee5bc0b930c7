"""gateway.relay: a stream arrives as the engine wrote it, and a broken answer is never taken for a whole one."""

import asyncio
import gzip
from typing import Any

import aiohttp
import msgspec
import pytest

from engine_adapter.simulated import SimulatedEngine
from engine_adapter.simulated_options import EngineOptions
from engine_adapter.usage import Usage
from gateway.relay import usage_of
from tests.gateway.fake_engine import END, EVENTS_HEAD, FakeEngine, chunk, raw, stream, whole
from tests.gateway.running import (
    CHAT,
    COMPLETIONS,
    GENERATE,
    Running,
    chat,
    error_of,
    exchange,
    request_bytes,
    running,
)

ASKED = {"include_usage": True}
REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "chat": (CHAT, chat("Grüße 🦀", max_tokens=6)),
    "completions": (COMPLETIONS, {"model": "m", "prompt": ["a", "b"], "max_tokens": 6}),
    "generate": (GENERATE, {"text": "Grüße 🦀", "sampling_params": {"max_new_tokens": 6}}),
}
EVENT = b'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'
USAGE = {"prompt_tokens": 100, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 64}}
USAGE_EVENT = b"data: " + msgspec.json.encode({"choices": [], "usage": USAGE}) + b"\n\n"
DONE = b"data: [DONE]\n\n"
WHOLE = EVENT + USAGE_EVENT + DONE


async def recorded(path: str, body: dict[str, Any]) -> bytes:
    """What an engine answers, asked without a gateway."""
    async with (
        SimulatedEngine(EngineOptions(speed=1000, model="m")) as engine,
        aiohttp.ClientSession() as http,
        http.post(engine.url + path, json=body) as response,
    ):
        assert response.status == 200
        return await response.read()


def pieces(data: bytes, size: int) -> list[bytes]:
    """The data in pieces of that size."""
    return [data[start : start + size] for start in range(0, len(data), size)]


@pytest.mark.parametrize("name", REQUESTS)
async def test_a_stream_arrives_byte_for_byte_however_it_is_cut(name: str) -> None:
    """Cut anywhere, inside characters and events too: the client gets the engine's own bytes, and they are read."""
    path, body = REQUESTS[name]
    asked = body | {"stream": True} | ({} if path == GENERATE else {"stream_options": ASKED})
    told = await recorded(path, asked)
    sizes = [1, 2, 3, 7, 50, 1000, len(told)]
    async with FakeEngine(*[stream(*pieces(told, size)) for size in sizes]) as engine, running(engine) as gateway:
        for _ in sizes:
            async with gateway.post(path, asked) as response:
                assert await response.read() == told
                assert response.headers["content-type"] == "text/event-stream"
            record = await gateway.last_record()
            assert (record.outcome, record.stream, record.cached_tokens) == ("ok", True, 0)
            assert (record.output_tokens, record.input_tokens) != (None, None)
            assert record.ttft_s is not None


@pytest.mark.parametrize("name", REQUESTS)
async def test_a_whole_answer_arrives_byte_for_byte(name: str) -> None:
    """With a length or in chunks: the engine's own bytes, and its usage is read."""
    path, body = REQUESTS[name]
    told = await recorded(path, body)
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    in_chunks = [raw(head, *map(chunk, pieces(told, size)), END) for size in (1, 60)]
    without_length = raw(b"HTTP/1.1 200 OK\r\n\r\n", *pieces(told, 60), then="close")
    async with FakeEngine(whole(told), *in_chunks, without_length) as engine, running(engine) as gateway:
        for _ in range(4):
            assert await gateway.ask(path, body) == (200, told)
            record = await gateway.last_record()
            assert (record.outcome, record.stream, record.cached_tokens) == ("ok", False, 0)
            assert record.output_tokens == 6 * (2 if path == COMPLETIONS else 1)


@pytest.mark.parametrize("size", [1, 5, 40, 1000])
async def test_hidden_usage_leaves_every_other_byte(size: int) -> None:
    """The usage chunk nobody asked for is cut out whole; the rest is untouched and usage is still known."""
    async with FakeEngine(stream(*pieces(WHOLE, size))) as engine, running(engine) as gateway:
        assert await gateway.ask(CHAT, chat(stream=True)) == (200, EVENT + DONE)
        record = await gateway.last_record()
        assert (record.input_tokens, record.cached_tokens, record.output_tokens) == (100, 64, 3)


@pytest.mark.parametrize("options", [None, ASKED])
async def test_a_stream_with_a_length(options: Any) -> None:
    """Case 53: a length the engine stated does not survive a body that gets shorter."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n" % len(WHOLE)
    cut = raw(head + WHOLE[:-4], then="close")
    async with FakeEngine(raw(head + WHOLE), cut) as engine, running(engine) as gateway:
        body = chat(stream=True, stream_options=options)
        assert await gateway.ask(CHAT, body) == (200, WHOLE if options else EVENT + DONE)
        assert "stream_broken" in await broken(gateway, body)


async def broken(gateway: Running, body: dict[str, Any], path: str = CHAT) -> str:
    """What came of an answer without a clean end; a client of HTTP cannot take it for a whole one."""
    answer = await exchange(gateway.port, request_bytes(path, msgspec.json.encode(body)))
    head, _, rest = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    length = next((line for line in head.split(b"\r\n") if line.startswith(b"content-length: ")), None)
    if length is None:
        assert b"transfer-encoding: chunked" in head
        assert not rest.endswith(END)
    else:
        assert len(rest) < int(length.partition(b": ")[2])
    return rest.decode("utf-8", "replace")


@pytest.mark.parametrize("then", ["close", "reset", "silence"])
@pytest.mark.parametrize("sent", [EVENT, EVENT[:-1], EVENT + EVENT[:20], EVENT + USAGE_EVENT])
async def test_a_stream_that_breaks_ends_with_an_error_and_no_clean_end(sent: bytes, then: Any) -> None:
    """Closed, reset or silent in mid-stream: an error event is the last thing, and the connection is cut."""
    answers = raw(EVENTS_HEAD, chunk(sent), then=then), whole(b"{}")
    async with FakeEngine(*answers) as engine, running(engine, read_timeout_s=0.05) as gateway:
        rest = await broken(gateway, chat(stream=True))
        *_, event, end = rest.split("\n\n")
        code = "engine_timeout" if then == "silence" else "stream_broken"
        assert error_of(event.partition("data: ")[2].encode())["code"] == code
        assert end == "\r\n"
        record = await gateway.last_record()
        assert (record.outcome, record.error_type, record.status) == ("truncated", "stream_broken", 200)
        assert record.cached_tokens == (64 if USAGE_EVENT in sent else None)
        assert await gateway.ask(CHAT, chat()) == (200, b"{}")


@pytest.mark.parametrize("path", [CHAT, GENERATE])
async def test_a_stream_without_its_done_is_no_whole_stream(path: str) -> None:
    """Case 49: the engine ended its response cleanly, but the answer is half."""
    async with FakeEngine(stream(EVENT)) as engine, running(engine) as gateway:
        assert "stream_broken" in await broken(gateway, chat(stream=True), path)
        assert (await gateway.last_record()).outcome == "truncated"


async def test_a_stream_that_breaks_after_its_done_is_whole() -> None:
    """All was said; how the connection ended does not matter any more."""
    async with FakeEngine(raw(EVENTS_HEAD, chunk(WHOLE), then="reset")) as engine, running(engine) as gateway:
        assert await gateway.ask(CHAT, chat(stream=True)) == (200, EVENT + DONE)
        assert (await gateway.last_record()).outcome == "ok"


async def test_an_engine_that_reports_an_error_in_its_stream() -> None:
    """Its own event passes; ended cleanly it is not broken, cut off it has no clean end."""
    event = b'data: {"error":{"message":"out of memory"}}\n\n'
    answers = stream(EVENT, event, DONE), raw(EVENTS_HEAD, chunk(EVENT + event), then="close")
    async with FakeEngine(*answers) as engine, running(engine) as gateway:
        assert await gateway.ask(CHAT, chat(stream=True)) == (200, EVENT + event + DONE)
        assert (await gateway.last_record()).error_type == "engine_error"
        assert event.decode() in await broken(gateway, chat(stream=True))
        assert (await gateway.last_record()).outcome == "error"


async def test_a_compressed_stream_passes_unread_and_breaks_visibly() -> None:
    """An engine that compresses in spite of being asked not to: its bytes pass; only the transport tells its end."""
    packed = gzip.compress(WHOLE)
    head = EVENTS_HEAD.replace(b"\r\n\r\n", b"\r\ncontent-encoding: gzip\r\n\r\n")
    answers = raw(head, chunk(packed), END), raw(head, chunk(packed[:-9]), then="close")
    async with FakeEngine(*answers) as engine, running(engine) as gateway:
        assert await gateway.ask(CHAT, chat(stream=True)) == (200, WHOLE)  # the client unpacks
        assert (await gateway.last_record()).outcome == "ok"
        await broken(gateway, chat(stream=True))
        assert (await gateway.last_record()).outcome == "truncated"


@pytest.mark.parametrize("then", ["close", "reset", "silence"])
async def test_a_whole_answer_that_breaks(then: Any) -> None:
    """The body stays short of its length, or without its last chunk; counted as an error, once."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
    answers = [
        raw(head + b"content-length: 100\r\n\r\n", b'{"usage":', then=then),
        raw(head + b"transfer-encoding: chunked\r\n\r\n", chunk(b'{"usage":'), then=then),
    ]
    async with FakeEngine(*answers, whole(b"{}")) as engine, running(engine, read_timeout_s=0.05) as gateway:
        for _ in answers:
            assert '{"usage":' in await broken(gateway, chat())
            record = await gateway.last_record()
            assert (record.outcome, record.status, record.retries) == ("error", 200, 0)
            assert record.error_type in ("engine_disconnected", "engine_timeout")
        assert len(engine.received) == len(gateway.records) == 2
        assert await gateway.ask(CHAT, chat()) == (200, b"{}")


async def test_a_slow_reader_slows_the_engine() -> None:
    """A client that does not read costs buffers of bounded size, not the whole answer."""
    written = 0
    size, whole_size = 1 << 16, 256 << 20

    async def answer(connection: Any) -> None:
        nonlocal written
        await connection.send(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % whole_size)
        while written < whole_size:
            await connection.send(bytes(size))
            written += size

    async with FakeEngine(answer) as engine, running(engine) as gateway, gateway.post(CHAT, chat()) as response:
        assert await response.content.readexactly(10) == bytes(10)
        before = -1
        while before != written:
            before = written
            await asyncio.sleep(0.1)
        assert written < whole_size // 8
        response.close()


async def test_an_answer_too_large_to_keep_passes_unread() -> None:
    """Beyond a bound the bytes pass and usage is unknown."""
    answer = msgspec.json.encode({"usage": USAGE, "text": "x" * (5 << 20)})
    told = raw(b"HTTP/1.1 200 OK\r\n\r\n", *pieces(answer, 1 << 18), then="close")
    async with FakeEngine(told) as engine, running(engine) as gateway:
        assert await gateway.ask(CHAT, chat()) == (200, answer)
        assert (await gateway.last_record()).input_tokens is None


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (None, None),
        (b"", None),
        (b"not json", None),
        (b"\xff", None),
        (b"[]", None),
        (b"{}", None),
        (b'{"usage": null}', None),
        (b'{"usage": "much"}', None),
        (b'{"usage": {"prompt_tokens": 5}}', Usage(input_total=5)),
        (b'{"meta_info": {"prompt_tokens": 5, "cached_tokens": 4}}', Usage(5, 4, None, 1, None, 0.8)),
    ],
)
def test_usage_of_a_whole_answer(answer: bytes | None, told: Usage | None) -> None:
    """Whatever an engine answers: its usage, or nothing."""
    assert usage_of(answer, None) == told
