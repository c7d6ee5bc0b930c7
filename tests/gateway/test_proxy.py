"""gateway.proxy: what reaches the engine, and what reaches the client, byte for byte."""

from typing import Any

import msgspec
import pytest

from engine_adapter.simulated import SimulatedEngine
from engine_adapter.simulated_options import EngineOptions
from gateway.config import CustomerConfig, RouteConfig
from gateway.identity import new_key
from prefix.canonical import canonicalize
from tests.cases import case, wire
from tests.gateway.fake_engine import END, EVENTS_HEAD, FakeEngine, Request, chunk, raw, whole, whole_bytes
from tests.gateway.running import CHAT, COMPLETIONS, GENERATE, chat, error_of, exchange, request_bytes, running

ANSWER = b'{"id": "1",  "choices": [ ] ,"usage":null}'
OPEN = "connection: close"


async def received(path: str, body: bytes, **settings: Any) -> Request:
    """What an engine gets of a request with this body."""
    async with FakeEngine(whole(ANSWER)) as engine, running(engine, **settings) as gateway:
        assert await gateway.ask(path, body) == (200, ANSWER)
        (request,) = engine.received
        return request


ODD_BODIES = {
    "spacing": (
        CHAT,
        b' {\n "model" : "m",\t"messages":[ {"role":"user","content":"caf\\u00e9 \\/ \xf0\x9f\xa6\x80"} ] } \n',
    ),
    "numbers": (
        CHAT,
        b'{"model":"m","messages":[{"role":"user","content":"x"}],"temperature":1.0e0,"seed":-0,"x":1e400}',
    ),
    "big": (COMPLETIONS, b'{"model":"m","prompt":"p","logit_bias":{"1":123456789012345678901234567890}}'),
    "twice": (CHAT, b'{"x":1,"model":"m","x":2,"messages":[{"role":"user","content":"x"}]}'),
    "not strict": (CHAT, b'{"model":"m","messages":[{"role":"user","content":"\\ud800"}],"temperature":NaN}'),
    "token ids": (COMPLETIONS, b'{"model": "m", "prompt": [1, 2, 3], "stream": false, "stream_options": {"x": 1}}'),
    "native": (GENERATE, b'{"text": "a", "stream": true, "sampling_params": {"max_new_tokens": 1}, "rid": "r"}'),
    "native ids": (GENERATE, b'{"input_ids": [[1, 2], [3]], "extra_key": ["a", null], "cache_salt": "s"}'),
    "case 56": (CHAT, wire(case(56)["input"]["body"])),
}


@pytest.mark.parametrize("name", ODD_BODIES)
async def test_a_body_that_needs_no_rewrite_arrives_as_it_was_sent(name: str) -> None:
    """Spacing, escapes, number spellings, duplicates and unknown fields (case 56) are the client's own bytes."""
    path, body = ODD_BODIES[name]
    request = await received(path, body)
    assert (request.target, request.body) == (path.encode(), body)


async def test_tools_arrive_in_canonical_order_and_the_client_is_told() -> None:
    """Level safe sorts tools by splice, names what it did in a header and counts it; off touches nothing."""
    body = wire(case(10)["input"]["B"] | {"model": "m"})
    for level in ("safe", "off"):
        expected = canonicalize(body, level=level)
        async with FakeEngine(whole(ANSWER)) as engine, running(engine, level=level) as gateway:
            async with gateway.post(CHAT, body) as response:
                assert await response.read() == ANSWER
            told = response.headers.get("x-prefixgate-changes")
            assert expected.changed is (level == "safe")
            assert told == (", ".join(dict.fromkeys(c.kind for c in expected.changes)) or None)
            assert engine.received[0].body == expected.body
            assert (await gateway.last_record()).changes == len(expected.changes)


async def test_a_route_has_its_own_level() -> None:
    """Where the route says off, its tools stay as they were sent."""
    body = chat(tools=[{"type": "function", "function": {"name": name}} for name in ("b", "a")])
    async with (
        FakeEngine(whole(ANSWER)) as engine,
        running(engine, routes={"raw": RouteConfig(level="off")}) as gateway,
    ):
        await gateway.ask(CHAT, body, x_prefixgate_route="raw")
        await gateway.ask(CHAT, body, x_prefixgate_route="typo")
        assert [request.body == wire(body) for request in engine.received] == [True, False]


@pytest.mark.parametrize(
    ("options", "arrives"),
    [
        (b"", b'{"stream_options":{"include_usage":true},"model":"m",  "stream": true'),
        (b',"stream_options": null', b'{"model":"m",  "stream": true,"stream_options": {"include_usage":true}'),
        (
            b',"stream_options":{ "a":1}',
            b'{"model":"m",  "stream": true,"stream_options":{"include_usage":true, "a":1}',
        ),
    ],
)
async def test_usage_is_asked_for_by_splice(options: bytes, arrives: bytes) -> None:
    """Only the one member is put in; every other byte stays where it was."""
    rest = b',"messages":[{"role":"user","content":"x"}]}'
    request = await received(CHAT, b'{"model":"m",  "stream": true' + options + rest)
    assert request.body == arrives + rest


@pytest.mark.parametrize("row", range(6))
@pytest.mark.parametrize("path", [CHAT, COMPLETIONS])
async def test_case_51_usage_is_seen_by_who_asked_for_it(path: str, row: int) -> None:
    """The engine is asked for usage in every stream; only a client that asked sees any of it."""
    given, expected = case(51)["input"]["requests"][row], case(51)["expected"]
    prompt = {"messages": [{"role": "user", "content": "x"}]} if path == CHAT else {"prompt": "x"}
    body = {"model": "simulated", "max_tokens": 5, **prompt, **given}
    async with SimulatedEngine(EngineOptions(speed=1000)) as engine, running(engine) as gateway:
        status, answer = await gateway.ask(path, body)
        assert status == 200
        sent = msgspec.json.decode(engine.received[0].body).get("stream_options")
        assert (sent or {}).get("include_usage") is expected["upstream_include_usage"][row]
        record = await gateway.last_record()
        assert (record.outcome, record.output_tokens, record.stream) == ("ok", 5, given["stream"])
        if not given["stream"]:
            assert engine.received[0].body == wire(body)
            return
        *events, done = [line[6:] for line in answer.split(b"\n\n") if line]
        chunks = [msgspec.json.decode(event) for event in events]
        assert done == b"[DONE]"
        alone = any(not c["choices"] and c.get("usage") for c in chunks)
        assert alone is expected["usage_only_chunk_reaches_client"][row]
        assert any(c.get("usage") for c in chunks) is expected["any_usage_visible_to_client"][row]


async def test_headers_to_the_engine() -> None:
    """End-to-end headers pass in order, hop-by-hop ones and ours do not, the body is never asked for compressed."""
    headers = [
        "authorization: Bearer k",
        "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "x-request-id: r1",
        "x-two: 1",
        "x-two: 2",
        "x-latin: \xe9",
        "accept-encoding: gzip, br",
        "connection: close, x-trace-hop",
        "x-trace-hop: 1",
        "keep-alive: timeout=5",
        "te: trailers",
        "proxy-authorization: Basic eA==",
        "x-prefixgate-route: chat",
        "x-prefixgate-unheard-of: 1",
        "content-type: application/json; charset=utf-8",
    ]
    request = request_bytes(CHAT + "?a=%20b&c", wire(chat()), *headers)
    async with FakeEngine(whole(ANSWER)) as engine, running(engine) as gateway:
        await exchange(gateway.port, request.replace("é".encode(), b"\xe9"))
        (got,) = engine.received
    assert got.target == b"/v1/chat/completions?a=%20b&c"
    own = {"host": f"127.0.0.1:{engine.port}", "accept-encoding": "identity", "content-length": str(len(got.body))}
    assert [(name, value) for name, value in got.headers if own.get(name) != value] == [
        tuple(header.split(": ", 1)) for header in headers[:6] + headers[14:]
    ]
    assert len([name for name, _ in got.headers if name in own]) == 3


async def test_chunked_bodies_are_joined() -> None:
    """A body that comes in chunks goes on whole, with its length."""
    body = wire(chat())
    head = b"POST %b HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n" % CHAT.encode()
    async with FakeEngine(whole(ANSWER)) as engine, running(engine) as gateway:
        answer = await exchange(gateway.port, head + chunk(body[:10]) + chunk(body[10:]) + END)
        assert answer.endswith(ANSWER)
        (got,) = engine.received
    assert got.body == body
    assert dict(got.headers)["content-length"] == str(len(body))
    assert "transfer-encoding" not in dict(got.headers)


async def test_expect_continue() -> None:
    """A client that waits for leave to send its body gets it (curl, from 1 MB on)."""
    body = wire(chat())
    request = request_bytes(CHAT, body, "expect: 100-continue", OPEN)
    async with FakeEngine(whole(ANSWER)) as engine, running(engine) as gateway:
        answer = await exchange(gateway.port, request)
    assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")
    assert "expect" not in dict(engine.received[0].headers)


async def test_authorization_is_the_engines_business_only_in_open_mode() -> None:
    """Without customers it passes on; with customers a key of ours never leaves the house."""
    key, stored = new_key()
    for customers, passed in (({}, f"Bearer {key}"), ({"acme": CustomerConfig(keys=(stored,))}, None)):
        async with FakeEngine(whole(ANSWER)) as engine, running(engine, customers=customers) as gateway:
            status, _ = await gateway.ask(CHAT, chat(), authorization=f"Bearer {key}")
            assert status == 200
            assert dict(engine.received[0].headers).get("authorization") == passed


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
        async with FakeEngine(answer) as engine, running(engine, read_timeout_s=0.05) as gateway:
            status, body = await gateway.ask(path, chat())
            assert (status, error_of(body)["code"]) == (504, "engine_timeout")
            await engine.received[-1].connection.closed.wait()
            assert len(engine.received) == 1
            assert gateway.workers[0].ready
