"""What the gateway answers by itself: OpenAI-shaped, with a stable code, and nothing of it reaches an engine."""

import re
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest

from gateway.config import CustomerConfig
from gateway.identity import new_key
from tests.cases import wire
from tests.gateway.fake_engine import FakeEngine, whole
from tests.gateway.running import (
    CHAT,
    COMPLETIONS,
    GENERATE,
    Running,
    chat,
    error_of,
    exchange,
    native,
    request_bytes,
    running,
    sums,
)

ONE: Any = [{"role": "user", "content": "x"}]
DEEP = b"[" * 200 + b"]" * 200


@pytest.fixture
async def engine() -> AsyncIterator[FakeEngine]:
    """An engine that is never asked."""
    async with FakeEngine(whole(b"{}")) as engine:
        yield engine


@pytest.fixture
async def gateway(engine: FakeEngine) -> AsyncIterator[Running]:
    """A gateway in front of it, with a small limit."""
    async with running(engine, max_body_bytes=4096) as gateway:
        yield gateway


BODIES: list[tuple[str, Any, int, str, str | None]] = [
    (CHAT, b"", 400, "invalid_json", None),
    (CHAT, b"{", 400, "invalid_json", None),
    (CHAT, b'{"model":"m",}', 400, "invalid_json", None),
    (CHAT, b'{"model":"m"} x', 400, "invalid_json", None),
    (GENERATE, b"text=hello", 400, "invalid_json", None),
    (CHAT, b'{"model":"m","messages":[{"role":"user","content":"\xff"}]}', 400, "invalid_utf8", None),
    (CHAT, b"[]", 400, "not_an_object", None),
    (CHAT, b"null", 400, "not_an_object", None),
    (GENERATE, b'"text"', 400, "not_an_object", None),
    (CHAT, b'{"model":"m","messages":' + DEEP + b"}", 400, "too_deep", None),
    (CHAT, b'{"model":"m","x":' + DEEP + b',"messages":[{"role":"user","content":"x"}]}', 400, "too_deep", None),
    (CHAT, b'{"model":"m","messages":[],"model":"n"}', 400, "duplicate_key", "/model"),
    (CHAT, b'{"model":"m","messages":[],"m\\u0065ssages":[]}', 400, "duplicate_key", "/messages"),
    (CHAT, {"messages": ONE}, 400, "missing_field", "/model"),
    (CHAT, {"model": None, "messages": ONE}, 400, "missing_field", "/model"),
    (CHAT, {"model": "m"}, 400, "missing_field", "/messages"),
    (CHAT, {"model": "m", "messages": None}, 400, "missing_field", "/messages"),
    (COMPLETIONS, {"model": "m"}, 400, "missing_field", "/prompt"),
    (COMPLETIONS, {"prompt": "x"}, 400, "missing_field", "/model"),
    (CHAT, {"model": "m", "messages": []}, 400, "empty_messages", "/messages"),
    (CHAT, {"model": "m", "messages": "x"}, 400, "invalid_type", "/messages"),
    (CHAT, {"model": "m", "messages": {}}, 400, "invalid_type", "/messages"),
    (CHAT, {"model": "m", "messages": ["x"]}, 400, "invalid_type", "/messages/0"),
    (CHAT, {"model": "m", "messages": [*ONE, {"content": "x"}]}, 400, "invalid_type", "/messages/1/role"),
    (CHAT, {"model": "m", "messages": [{"role": 1}]}, 400, "invalid_type", "/messages/0/role"),
    (CHAT, {"model": "m", "messages": [{"role": "user", "content": 5}]}, 400, "invalid_type", "/messages/0/content"),
    (CHAT, chat(stream="yes"), 400, "invalid_type", "/stream"),
    (CHAT, chat(stream=1), 400, "invalid_type", "/stream"),
    (CHAT, {"model": 5, "messages": ONE}, 400, "invalid_type", "/model"),
    (CHAT, {"model": ["m"], "messages": ONE}, 400, "invalid_type", "/model"),
    (COMPLETIONS, {"model": "m", "prompt": {"a": 1}}, 400, "invalid_type", "/prompt"),
    (COMPLETIONS, {"model": "m", "prompt": [1, "a"]}, 400, "invalid_type", "/prompt/0"),
    (COMPLETIONS, {"model": "m", "prompt": [-1]}, 400, "invalid_type", "/prompt"),
    (GENERATE, {"text": 7}, 400, "invalid_type", "/text"),
    (GENERATE, {"input_ids": "abc", "text": None}, 400, "invalid_type", "/text"),
    (CHAT, {"model": "n", "messages": ONE}, 404, "model_not_found", "/model"),
    (CHAT, {"model": "", "messages": ONE}, 404, "model_not_found", "/model"),
    (CHAT, {"model": "n:m", "messages": ONE}, 404, "model_not_found", "/model"),
    (GENERATE, {"model": "n", "text": "x"}, 404, "model_not_found", "/model"),
    (CHAT, chat("x" * 5000), 413, "body_too_large", None),
]


async def test_bodies_no_engine_can_accept(gateway: Running, engine: FakeEngine) -> None:
    """Each has its status, code and place; the message is one line and names what is wrong."""
    for path, body, status, code, param in BODIES:
        async with gateway.post(path, body) as response:
            said = error_of(await response.read())
            assert (response.status, said["code"], said["param"]) == (status, code, param), body
            assert re.fullmatch(r"[0-9a-f]{32}", response.headers["x-prefixgate-request-id"])
        assert said["type"] == "invalid_request_error"
        assert "\n" not in said["message"]
        record = await gateway.last_record()
        assert (record.outcome, record.error_type, record.status) == ("rejected", code, status)
    assert engine.received == []
    assert len(gateway.records) == len(BODIES)
    assert sums(await gateway.metrics(), "prefixgate_requests_total", outcome="rejected") == len(BODIES)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b'{"model":"m","messages":[}', "byte 25"),
        (b'{"model":"m\xff"}', "byte 11"),
        (wire({"model": "n", "messages": ONE}), "there is: m"),
    ],
)
async def test_messages_help(gateway: Running, body: bytes, says: str) -> None:
    """Where it is wrong, and what would be right."""
    _, answer = await gateway.ask(CHAT, body)
    assert says in error_of(answer)["message"]


@pytest.mark.parametrize("path", [CHAT, COMPLETIONS, GENERATE])
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "HEAD", "PATCH"])
async def test_other_methods(gateway: Running, path: str, method: str) -> None:
    """Prompts are POSTed."""
    answer = await exchange(gateway.port, request_bytes(path, b"", "connection: close", method=method))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 405 ")
    assert b"\r\nallow: POST" in head
    assert method == "HEAD" or error_of(body)["code"] == "method_not_allowed"


@pytest.mark.parametrize(
    "path", ["/v1/chat/completion", "/v1/chat/completions/", "/v1/rerank", "/v1/loads", "/flush_cache", "/"]
)
async def test_unknown_paths(gateway: Running, engine: FakeEngine, path: str) -> None:
    """Engine management is not reachable through the gateway, nor is anything else that is not on the list."""
    status, body = await gateway.ask(path, chat())
    assert (status, error_of(body)["code"]) == (404, "not_found")
    assert path in error_of(body)["message"]
    assert engine.received == []


async def test_methods_and_paths_of_our_own(gateway: Running) -> None:
    """FastAPI's own errors have the same shape."""
    status, body = await gateway.ask("/ready", b"")
    assert (status, error_of(body)["code"]) == (405, "method_not_allowed")


async def test_a_body_over_the_limit_is_refused_before_it_is_sent(gateway: Running) -> None:
    """By its stated length at once, in chunks as soon as it is too much; the gateway serves on."""
    head = f"POST {CHAT} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n".encode()
    for request in (
        head + b"content-length: 100000000\r\n\r\n",
        head + b"content-length: %b\r\n\r\n" % (b"9" * 18),
        head + b"transfer-encoding: chunked\r\n\r\n1388\r\n" + b"x" * 5000 + b"\r\n",
    ):
        answer = await exchange(gateway.port, request)
        assert answer.startswith(b"HTTP/1.1 413 ")
        assert error_of(answer.partition(b"\r\n\r\n")[2])["code"] == "body_too_large"
    assert await gateway.ask(CHAT, chat()) == (200, b"{}")


SMUGGLED = {
    "length and chunks": ["content-length: 5", "transfer-encoding: chunked"],
    "two lengths": ["content-length: 5", "content-length: 6"],
    "negative length": ["content-length: -1"],
    "folded header": ["x-a: a\r\n b"],
    "space in a name": ["x a: b"],
    "nul": ["x-a: a\x00b"],
}


@pytest.mark.parametrize("how", SMUGGLED)
async def test_requests_with_two_readings(gateway: Running, engine: FakeEngine, how: str) -> None:
    """What another server could read as another request is refused, and the connection ends."""
    lines = [f"POST {CHAT} HTTP/1.1", "host: x", *SMUGGLED[how], "", "0\r\n\r\nGET / HTTP/1.1\r\n\r\n"]
    answer = await exchange(gateway.port, "\r\n".join(lines).encode())
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1
    assert engine.received == []


async def test_a_compressed_body_is_refused(gateway: Running) -> None:
    """The gateway does not read it, so it does not guess."""
    status, body = await gateway.ask(CHAT, chat(), content_encoding="gzip")
    assert (status, error_of(body)["code"]) == (415, "unsupported_encoding")


async def test_a_body_at_the_limit_and_what_looks_odd_but_is_fine(gateway: Running, engine: FakeEngine) -> None:
    """Exactly the limit, a body type nobody stated, null for absent: passed on."""
    largest = wire(chat("x" * (4096 - len(wire(chat(""))))))
    assert len(largest) == 4096
    bodies = [
        largest,
        wire(chat(stream=None, tools=None)),
        wire(chat() | {"messages": [{"role": "user", "content": None}]}),
    ]
    for body in bodies:
        assert await gateway.ask(CHAT, body) == (200, b"{}")
    assert [request.body for request in engine.received] == bodies


async def test_no_engine_is_up() -> None:
    """It starts, says so, refuses with Retry-After, and works as soon as one comes up."""
    engine = FakeEngine(whole(b"{}"))
    async with engine:
        pass  # its port is known now, and free
    async with running(engine, wait=False) as gateway:
        for path, body in ((CHAT, chat()), (GENERATE, native())):
            async with gateway.post(path, body) as response:
                assert (response.status, error_of(await response.read())["code"]) == (503, "no_engine")
                assert response.headers["retry-after"] == "5"
        async with gateway.http.get("/ready") as response:
            assert (response.status, response.headers["retry-after"]) == (503, "5")
        async with gateway.http.get("/v1/models") as response:
            assert (response.status, error_of(await response.read())["code"]) == (503, "no_engine")
        async with gateway.http.get("/health") as response:
            assert response.status == 200
        status, said = await gateway.ask(CHAT, b"{")
        assert (status, error_of(said)["code"]) == (400, "invalid_json")
        async with engine:
            await gateway.ready(1)
            async with gateway.http.get("/ready") as response:
                assert (response.status, (await response.json())["engines_up"]) == (200, 1)
            assert await gateway.ask(CHAT, chat()) == (200, b"{}")


async def test_keys() -> None:
    """With customers: no key, a wrong one, another scheme are 401; the right one is served."""
    key, stored = new_key()
    customers = {"acme": CustomerConfig(keys=(stored,))}
    async with FakeEngine(whole(b"{}")) as engine, running(engine, customers=customers) as gateway:
        for wrong in ("", "Bearer ", "Bearer nope", f"Basic {key}", f"Bearer {key}x", stored):
            async with gateway.post(CHAT, chat(), authorization=wrong) as response:
                assert (response.status, error_of(await response.read())["code"]) == (401, "invalid_api_key")
                assert response.headers["www-authenticate"] == "Bearer"
        assert engine.received == []
        assert await gateway.ask(CHAT, chat(), authorization=f"Bearer {key}") == (200, b"{}")
        assert (await gateway.last_record()).customer == "acme"


@pytest.mark.parametrize(
    ("model", "messages", "key", "raised"),
    [
        ("m", [], "k", openai.BadRequestError),
        ("m", [{"role": "user", "content": 5}], "k", openai.BadRequestError),
        ("nope", ONE, "k", openai.NotFoundError),
        ("m", ONE, "wrong", openai.AuthenticationError),
        ("m", [{"role": "user", "content": "x" * 5000}], "k", openai.APIStatusError),
    ],
)
async def test_the_openai_client_raises_the_right_exception(model: str, messages: Any, key: str, raised: Any) -> None:
    """The official client finds type, code and param where it looks for them."""
    given, stored = new_key()
    customers = {"acme": CustomerConfig(keys=(stored,))}
    async with (
        FakeEngine(whole(b"{}")) as engine,
        running(engine, customers=customers, max_body_bytes=4096) as gateway,
    ):
        api_key = given if key == "k" else key
        async with openai.AsyncOpenAI(base_url=gateway.url + "/v1", api_key=api_key, max_retries=0) as client:
            with pytest.raises(raised) as caught:
                await client.chat.completions.create(model=model, messages=messages)
    assert caught.value.code
    assert caught.value.type


async def test_the_openai_client_without_an_engine() -> None:
    """503 is the client's InternalServerError, and its own retry gets through once an engine is up."""
    engine = FakeEngine(whole(b'{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[]}'))
    async with engine:
        pass
    async with running(engine, wait=False) as gateway:
        client = openai.AsyncOpenAI(base_url=gateway.url + "/v1", api_key="k", max_retries=0)
        with pytest.raises(openai.InternalServerError) as caught:
            await client.chat.completions.create(model="m", messages=ONE)
        assert caught.value.code == "no_engine"
        async with client, engine:
            await gateway.ready(1)
            assert (await client.chat.completions.create(model="m", messages=ONE)).id == "1"
