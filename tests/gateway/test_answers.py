"""gateway.proxy: what an engine answers reaches the client as it was said; garbage does not."""

import pytest

from gateway.config import CustomerConfig
from gateway.identity import new_key
from tests.cases import wire
from tests.gateway.fake_engine import (
    EVENTS_HEAD,
    FakeEngine,
    raw,
    whole,
    whole_bytes,
)
from tests.gateway.running import CHAT, GENERATE, chat, error_of, exchange, request_bytes, running

ANSWER = b'{"id": "1",  "choices": [ ] ,"usage":null}'
OPEN = "connection: close"


async def test_headers_to_the_client() -> None:
    """End-to-end headers of the engine pass in order, twice where it said so; ours are added, hop-by-hop ones go."""
    theirs = [
        "server: engine/1",
        "date: Tue, 01 Dec 2026 00:00:00 GMT",
        "x-request-id: e1",
        "set-cookie: a=1",
        "set-cookie: b=2",
    ]
    answer = whole_bytes(ANSWER, 200, [*theirs, "connection: keep-alive, x-hop", "x-hop: 1", "keep-alive: timeout=5"])
    async with FakeEngine(raw(answer)) as engine, running(engine) as gateway:
        raw_answer = await exchange(gateway.port, request_bytes(CHAT, wire(chat()), OPEN))
        head, _, body = raw_answer.partition(b"\r\n\r\n")
    assert body == ANSWER
    status, *headers = head.decode().split("\r\n")
    assert status == "HTTP/1.1 200 OK"
    expected = ["content-type: application/json", f"content-length: {len(ANSWER)}", *theirs]
    assert headers[: len(expected)] == expected
    assert [name.partition(":")[0] for name in headers[len(expected) :]] == [
        "x-prefixgate-request-id",
        "x-prefixgate-worker",
        "x-prefixgate-expected-cached-tokens",
        "connection",
    ]


async def test_where_a_request_went_is_told_only_to_those_who_may_know() -> None:
    """Worker and expected tokens: in open mode and to trusted keys; the prompt version to everybody who named one."""
    keys = {name: new_key() for name in ("plain", "trusted")}
    customers = {
        name: CustomerConfig(keys=(stored,), trusted=name == "trusted") for name, (_, stored) in keys.items()
    }
    async with FakeEngine(whole(ANSWER)) as engine, running(engine, customers=customers) as gateway:
        for name, (key, _) in keys.items():
            body = chat(metadata={"prompt_version": "v 2"})
            async with gateway.post(CHAT, body, authorization=f"Bearer {key}") as response:
                told = {header for header in response.headers if header.startswith("x-prefixgate-")}
            assert ("x-prefixgate-worker" in told) is (name == "trusted")
            assert ("x-prefixgate-expected-cached-tokens" in told) is (name == "trusted")
            assert {"x-prefixgate-request-id", "x-prefixgate-prompt-version"} <= told


@pytest.mark.parametrize("version", ["a\x01b", "\x7f", "\r\nx-evil: 1", "é", "v" * 300, " "])
async def test_a_prompt_version_cannot_break_the_response(version: str) -> None:
    """Whatever the client calls its prompt, the answer comes, and no header of the client's making with it."""
    async with FakeEngine(whole(ANSWER)) as engine, running(engine) as gateway:
        async with gateway.post(CHAT, chat(metadata={"prompt_version": version})) as response:
            assert (response.status, await response.read()) == (200, ANSWER)
        assert "x-evil" not in response.headers


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("status", [400, 401, 404, 408, 413, 422, 429, 500, 501, 504, 599])
async def test_what_the_engine_answers_passes_unchanged(status: int, stream: bool) -> None:
    """Status, body and headers of an engine's error are the client's to see (Retry-After of a 429)."""
    body = b'{"object": "error", "message": "caf\xc3\xa9",\n "code": 1}'
    async with FakeEngine(whole(body, status, ["retry-after: 7"])) as engine, running(engine) as gateway:
        async with gateway.post(CHAT, chat(stream=stream)) as response:
            assert (response.status, await response.read()) == (status, body)
        assert response.headers["retry-after"] == "7"
        record = await gateway.last_record()
        assert (record.outcome, record.error_type, record.status) == ("error", str(status), status)
        assert (len(engine.received), record.stream) == (1, False)
        assert gateway.workers[0].ready


async def test_redirects_are_not_followed() -> None:
    """An engine cannot send the gateway elsewhere; the client sees what it said."""
    redirect = whole(b"", 307, ["location: http://example.invalid/"])
    async with FakeEngine(redirect) as engine, running(engine) as gateway:
        answer = await exchange(gateway.port, request_bytes(CHAT, wire(chat()), OPEN))
        assert answer.startswith(b"HTTP/1.1 307")
        assert b"\r\nlocation: http://example.invalid/\r\n" in answer


GARBAGE = {
    "no http": b"hello\r\n\r\n",
    "no number": b"HTTP/1.1 abc OK\r\n\r\n",
    "a number of its own": b"HTTP/1.1 999 What\r\ncontent-length: 2\r\n\r\n{}",
    "a switch nobody asked for": b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nabc",
    "a bad header": b"HTTP/1.1 200 OK\r\nx: a\x01b\r\ncontent-length: 2\r\n\r\n{}",
    "a bad length": b"HTTP/1.1 200 OK\r\ncontent-length: two\r\n\r\n{}",
    "bad chunks": EVENTS_HEAD + b"zz\r\nabc",
}


@pytest.mark.parametrize("garbage", GARBAGE)
async def test_garbage_is_a_bad_gateway(garbage: str) -> None:
    """What is not HTTP is answered 502 at once, and the next request is served."""
    answers = raw(GARBAGE[garbage]), whole(ANSWER)
    async with FakeEngine(*answers) as engine, running(engine) as gateway:
        status, body = await gateway.ask(CHAT, chat())
        assert (status, error_of(body)["code"]) == (502, "engine_answer_invalid")
        assert (await gateway.last_record()).error_type == "engine_answer_invalid"
        assert await gateway.ask(CHAT, chat()) == (200, ANSWER)


async def test_bytes_after_the_answer_are_nobodys() -> None:
    """More than the stated length is not part of this answer, nor of the next one on that connection."""
    answers = raw(whole_bytes(ANSWER) + whole_bytes(b'{"other":1}')), whole(ANSWER)
    async with FakeEngine(*answers) as engine, running(engine) as gateway:
        for _ in range(3):
            assert await gateway.ask(CHAT, chat()) == (200, ANSWER)


async def test_an_engine_that_says_continue_first() -> None:
    """1xx answers are not the answer."""
    async with (
        FakeEngine(raw(b"HTTP/1.1 100 Continue\r\n\r\n", whole_bytes(ANSWER))) as engine,
        running(engine) as gateway,
    ):
        assert await gateway.ask(CHAT, chat()) == (200, ANSWER)


@pytest.mark.parametrize("path", [CHAT, GENERATE])
async def test_an_engine_that_says_nothing(path: str) -> None:
    """Without headers, or without a body behind them: 504 after the read timeout, and not tried elsewhere."""
    for answer in (raw(), raw(EVENTS_HEAD)):
        async with FakeEngine(answer) as engine, running(engine, first_byte_timeout_s=0.05) as gateway:
            status, body = await gateway.ask(path, chat())
            assert (status, error_of(body)["code"]) == (504, "engine_timeout")
            await engine.received[-1].connection.closed.wait()
            assert len(engine.received) == 1
            assert gateway.workers[0].ready
