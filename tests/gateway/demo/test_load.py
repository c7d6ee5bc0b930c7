"""gateway.demo.load: an open loop, and what a client can see of a stream."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from gateway.demo.load import Outcome, replay
from gateway.demo.workload import DemoRequest, Workload

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

ROLE = b'data: {"choices":[{"delta":{"role":"assistant","content":""}}]}\n\n'
WORD = b'data: {"choices":[{"delta":{"content":"hi"}}]}\n\n'
USAGE = b'data: {"choices":[],"usage":{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":4}}}\n\n'
NO_DETAILS = b'data: {"choices":[],"usage":{"prompt_tokens":9,"prompt_tokens_details":null}}\n\n'
ERROR = b'data: {"error":{"message":"boom"}}\n\n'
DONE = b"data: [DONE]\n\n"


@asynccontextmanager
async def gateway(handler: Handler) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_post("/v1/chat/completions", handler)
    async with TestServer(app) as server:
        yield str(server.make_url("")).rstrip("/")


def answering(*chunks: bytes, status: int = 200) -> Handler:
    async def handler(request: web.Request) -> web.StreamResponse:
        await request.read()
        response = web.StreamResponse(status=status)
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
        return response

    return handler


def workload(*arrivals: float) -> Workload:
    return Workload(tuple(DemoRequest(arrival, "code", "acme", "v1", b"{}") for arrival in arrivals), 1.0, 1.0)


async def send_one(handler: Handler) -> Outcome:
    async with gateway(handler) as url:
        (outcome,) = await replay(workload(0.0), url, lambda done: None)
    return outcome


@pytest.mark.parametrize(
    ("chunks", "tokens"),
    [
        ((ROLE, WORD, USAGE, DONE), (9, 4)),
        ((b": ping\n\n", ROLE + WORD + USAGE + DONE), (9, 4)),
        ((ROLE, WORD, USAGE[:31], USAGE[31:], DONE), (9, 4)),
        ((WORD, NO_DETAILS, DONE), (9, None)),
        ((WORD, DONE), (None, None)),
    ],
)
async def test_stream(chunks: tuple[bytes, ...], tokens: tuple[int | None, int | None]) -> None:
    """The usage chunk is read wherever the bytes are cut; what was not reported stays unknown."""
    outcome = await send_one(answering(*chunks))
    assert (outcome.input_tokens, outcome.cached_tokens) == tokens
    assert outcome.error is None
    assert outcome.ttft_s is not None


@pytest.mark.parametrize(
    ("handler", "said"),
    [
        (answering(b'{"error": "no engine"}', status=503), 'HTTP 503: {"error": "no engine"}'),
        (answering(ROLE, ERROR), '{"message":"boom"}'),
        (answering(ROLE, DONE), "without content"),
        (answering(b"data: {nonsense\n\n"), "DecodeError"),
    ],
)
async def test_failures_are_told(handler: Handler, said: str) -> None:
    """Whatever goes wrong with a request is its outcome, not the end of the pass."""
    outcome = await send_one(handler)
    assert outcome.error is not None
    assert said in outcome.error


async def test_unreachable() -> None:
    """A gateway that does not listen fails each request."""
    outcomes = await replay(workload(0.0, 0.0), "http://127.0.0.1:1", lambda done: None)
    assert [outcome.error is not None for outcome in outcomes] == [True, True]


async def test_ttft_is_the_first_content() -> None:
    """TTFT waits for the first event with content; the role alone does not count."""
    may_speak = asyncio.Event()

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(ROLE)
        await asyncio.sleep(0.2)
        may_speak.set()
        await response.write(WORD + USAGE)
        return response

    outcome = await send_one(handler)
    assert may_speak.is_set()
    assert outcome.ttft_s is not None
    assert outcome.ttft_s >= 0.2


async def test_open_loop() -> None:
    """Later requests leave although earlier ones have no answer yet, in order and not before their time."""
    all_here = asyncio.Event()
    arrived: list[float] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        arrived.append(asyncio.get_running_loop().time())
        if len(arrived) == 3:
            all_here.set()
        await all_here.wait()
        return await answering(WORD, USAGE)(request)

    done: list[int] = []
    async with gateway(handler) as url:
        outcomes = await replay(workload(0.0, 0.1, 0.2), url, done.append)
    assert arrived[2] - arrived[0] >= 0.15
    assert done == [1, 2, 3]
    assert [outcome.error for outcome in outcomes] == [None] * 3
    assert all(outcome.sent_s >= 0 for outcome in outcomes)


async def test_identity_headers() -> None:
    """Route, customer and prompt version travel as the gateway's request headers."""
    seen: dict[str, str] = {}

    async def handler(request: web.Request) -> web.StreamResponse:
        seen.update(request.headers)
        return await answering(WORD, USAGE)(request)

    await send_one(handler)
    names = ("route", "customer", "prompt-version")
    assert [seen[f"x-prefixgate-{name}"] for name in names] == ["code", "acme", "v1"]
