"""gateway.comments: a long prefill is bridged with comments, and what goes wrong behind them is told by an event."""

import asyncio
from typing import Any

import msgspec
import openai
import pytest

from tests.gateway.fake_engine import EVENTS_HEAD, Answer, FakeEngine, chunk, raw, stream, whole
from tests.gateway.running import CHAT, Running, chat, exchange, request_bytes, running

EVENT = b'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'
DONE = b"data: [DONE]\n\n"
COMMENT = b": keep-alive\n\n"
CALM = {"poll_interval_s": 60.0, "sse_keepalive_s": 0.03}


def after(seconds: float, then: Answer) -> Answer:
    """That answer after so long."""

    async def answer(connection: Any) -> None:
        await asyncio.sleep(seconds)
        await then(connection)

    return answer


async def told(gateway: Running, **more: Any) -> tuple[bytes, bytes]:
    """Head and body (without its framing) of a streamed request."""
    body = msgspec.json.encode(chat(stream=True, **more))
    answer = await exchange(gateway.port, request_bytes(CHAT, body, "connection: close"))
    head, _, rest = answer.partition(b"\r\n\r\n")
    return head, b"".join(rest.split(b"\r\n")[1::2])


async def test_a_long_prefill() -> None:
    """Comments until the first byte, then the engine's own bytes; headers that were not known are not made up."""
    async with FakeEngine(after(0.2, stream(EVENT, DONE))) as engine, running(engine, **CALM) as gateway:
        head, body = await told(gateway)
        assert b"content-type: text/event-stream" in head
        assert b"x-prefixgate-request-id: " in head
        assert b"x-prefixgate-worker" not in head
        assert body.startswith(COMMENT)
        assert body.replace(COMMENT, b"") == EVENT + DONE
        record = await gateway.last_record()
        assert (record.outcome, record.status) == ("ok", 200)


async def test_a_short_one_has_none_and_all_headers() -> None:
    """Nothing changes for who is served in time, and for who does not stream."""
    slow_whole = after(0.15, whole(b"{}"))
    async with FakeEngine(stream(EVENT, DONE), slow_whole) as engine, running(engine, **CALM) as gateway:
        async with gateway.post(CHAT, chat(stream=True)) as response:
            assert await response.read() == EVENT + DONE
            assert "x-prefixgate-worker" in response.headers
        assert await gateway.ask(CHAT, chat()) == (200, b"{}")


@pytest.mark.parametrize(
    ("answer", "code", "error_type"),
    [
        (whole(b'{"error":\n {"code":"bad", "message":"too long"}}', 400), "bad", "400"),
        (whole(b"<html>", 500), "engine_error", "500"),
        (raw(then="reset"), "engine_disconnected", "engine_disconnected"),
        (raw(EVENTS_HEAD, chunk(EVENT), then="reset"), "stream_broken", "stream_broken"),
        (
            raw(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{", then="reset"),
            "engine_disconnected",
            "engine_disconnected",
        ),
    ],
)
async def test_what_goes_wrong_behind_the_head_is_an_event(answer: Answer, code: str, error_type: str) -> None:
    """The engine's own words where it had some, and never a clean end."""
    async with FakeEngine(after(0.15, answer)) as engine, running(engine, **CALM) as gateway:
        head, body = await told(gateway)
        assert head.startswith(b"HTTP/1.1 200 ")
        *_, event, end = body.split(b"\n\n")
        error = msgspec.json.decode(event.partition(b"data: ")[2])["error"]
        assert (error["code"], end) == (code, b"")
        record = await gateway.last_record()
        assert (record.status, record.error_type) == (200, error_type)
        assert record.outcome == ("truncated" if code == "stream_broken" else "error")


async def test_other_workers_are_still_tried() -> None:
    """A comment is no byte of an answer."""
    one, two = FakeEngine(), FakeEngine()
    one.answers = two.answers = [after(0.15, whole(b"busy", 503)), stream(EVENT, DONE)]
    async with one, two, running(one, two, **CALM) as gateway:
        _, body = await told(gateway)
        assert body.replace(COMMENT, b"") == EVENT + DONE
        assert (await gateway.last_record()).retries == 1


async def test_the_openai_client_reads_them() -> None:
    """Comments are passed over, an error behind them is raised."""
    bad = whole(b'{"error":{"message":"too long","code":"bad"}}', 400)
    async with (
        FakeEngine(after(0.1, stream(EVENT, DONE)), after(0.1, bad)) as engine,
        running(engine, **CALM) as gateway,
        openai.AsyncOpenAI(base_url=gateway.url + "/v1", api_key="x", max_retries=0) as client,
    ):
        asked: Any = {"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": True}
        chunks = [each async for each in await client.chat.completions.create(**asked)]
        assert [each.choices[0].delta.content for each in chunks] == ["a"]
        with pytest.raises(openai.APIError, match="too long"):
            async for _ in await client.chat.completions.create(**asked):
                pass
