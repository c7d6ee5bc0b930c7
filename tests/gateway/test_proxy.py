"""gateway.proxy: what reaches the engine, byte for byte."""

import asyncio
import re
from typing import Any

import msgspec
import pytest

from engine_adapter.simulated import SimulatedEngine
from engine_adapter.simulated_options import EngineOptions
from gateway.config import CustomerConfig, RouteConfig
from gateway.identity import new_key
from prefix.canonical import canonicalize
from tests.cases import case, wire
from tests.gateway.fake_engine import (
    END,
    Answer,
    Connection,
    FakeEngine,
    Request,
    chunk,
    whole,
    whole_bytes,
)
from tests.gateway.running import CHAT, COMPLETIONS, GENERATE, chat, exchange, request_bytes, running

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
    "tools not strict": (
        CHAT,
        (
            b'{"model":"m","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":'
            b'{"name":"f","description":"\\ud800","parameters":{"maximum":Infinity}}}]}'
        ),
    ),
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


async def test_many_requests_at_once_do_not_mix() -> None:
    """Each client gets the answer to its own request, from whichever engine."""

    def echo(engine: FakeEngine) -> Answer:
        async def answer(connection: Connection) -> None:
            body = engine.received[-1].body
            await asyncio.sleep(0.001 * (len(body) % 7))
            await connection.send(whole_bytes(body))

        return answer

    one, two = FakeEngine(), FakeEngine()
    one.answers, two.answers = [echo(one)], [echo(two)]
    bodies = [wire(chat(f"{number:03}" * (number % 50 + 1))) for number in range(200)]
    async with one, two, running(one, two) as gateway:
        answers = await asyncio.gather(*(gateway.ask(CHAT, body) for body in bodies))
        assert answers == [(200, body) for body in bodies]
        await gateway.last_record()
        assert len(one.received) + len(two.received) == len(gateway.records) == 200
        assert min(len(one.received), len(two.received)) > 50


async def test_pipelined_requests_are_answered_in_order() -> None:
    """Sent in one go on one connection: one after the other."""
    answers = [whole(b'{"number":%d}' % number) for number in range(3)]
    async with FakeEngine(*answers) as engine, running(engine) as gateway:
        request = request_bytes(CHAT, wire(chat()))
        answer = await exchange(gateway.port, request * 2 + request_bytes(CHAT, wire(chat()), OPEN))
        assert re.findall(rb'{"number":(\d)}', answer) == [b"0", b"1", b"2"]


async def test_authorization_is_the_engines_business_only_in_open_mode() -> None:
    """Without customers it passes on; with customers a key of ours never leaves the house."""
    key, stored = new_key()
    for customers, passed in (({}, f"Bearer {key}"), ({"acme": CustomerConfig(keys=(stored,))}, None)):
        async with FakeEngine(whole(ANSWER)) as engine, running(engine, customers=customers) as gateway:
            status, _ = await gateway.ask(CHAT, chat(), authorization=f"Bearer {key}")
            assert status == 200
            assert dict(engine.received[0].headers).get("authorization") == passed
