"""A target that does what a test says, and one request of a source."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from aiohttp import web
from aiohttp.test_utils import TestServer

from gateway.apis import CHAT
from gateway.bench.client import Target
from gateway.bench.loops import Side, Warmup
from gateway.bench.outcome import Outcome
from gateway.bench.plan import ALONE, Turns
from gateway.bench.source import Recorded

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

WORD = b'data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n'
END = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
USAGE = (
    b'data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,'
    b'"prompt_tokens_details":{"cached_tokens":4}}}\n\n'
)
DONE = b"data: [DONE]\n\n"
STREAM = (WORD, WORD, END, USAGE, DONE)


@asynccontextmanager
async def target(handler: Handler, **pages: Any) -> AsyncIterator[Target]:
    """A server whose POSTs this handler answers, and whose GETs are these pages (path without slash -> JSON)."""
    app = web.Application()
    app.router.add_post("/{path:.*}", handler)

    async def page(request: web.Request) -> web.Response:
        found = pages.get(request.match_info["path"].replace("/", "_"))
        if isinstance(found, int):
            return web.Response(status=found)
        return web.json_response(found) if found is not None else web.Response(status=404)

    app.router.add_get("/{path:.*}", page)
    async with TestServer(app) as server:
        asked = Target(str(server.make_url("")).rstrip("/"), {}, 10.0)
        try:
            yield asked
        finally:
            await asked.http.close()


def streaming(*chunks: bytes, status: int = 200, then: Callable[[web.Request], None] | None = None) -> Handler:
    """Answers with an event stream in these pieces."""

    async def handler(request: web.Request) -> web.StreamResponse:
        await request.read()
        response = web.StreamResponse(status=status, headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
        if then is not None:
            then(request)
        return response

    return handler


def plain(body: Any, status: int = 200) -> Handler:
    """Answers in one piece; bytes as they are."""

    async def handler(request: web.Request) -> web.Response:
        await request.read()
        return web.Response(body=body if isinstance(body, bytes) else msgspec.json.encode(body), status=status)

    return handler


def cut(request: web.Request) -> None:
    """Ends the connection in the middle of an answer."""
    assert request.transport is not None
    request.transport.abort()


def recorded(session: str | None = None, after: int | None = None, at_s: float = 0.0) -> Recorded:
    """A request of a source."""
    return Recorded(at_s, CHAT, b"{}", "here:1", session=session, after=after)


def side_of(
    asked: Target, requests: Sequence[Recorded], outcomes: list[Outcome], *, turns: Turns = ALONE, number: int = 0
) -> Side:
    """One side of a run that has just begun."""
    loop = asyncio.get_running_loop()
    start = loop.time()
    bodies = [request.what for request in requests if isinstance(request.what, bytes)]
    return Side(
        number,
        asked,
        requests,
        bodies,
        turns,
        Warmup(),
        lambda: loop.time() - start,
        outcomes,
        lambda _: None,
    )
