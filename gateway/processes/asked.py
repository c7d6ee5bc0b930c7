"""An operator's request, carried from the child it came to, to the parent's application, and the answer back.

One idea: ASGI messages travel over a socket pair made for this request, and its end is the request's end. So whoever
reads slowly slows down who writes, a client that leaves is noticed, and streams pass like pages. The scope says who
the client is, its address, its headers, untouched: the guard judges the same as in one process. The pair has no name
in the file system, so nobody else can talk to the parent this way.
"""

import asyncio
import socket
from collections.abc import Callable, Iterator
from typing import Any, Final

from starlette.types import ASGIApp

from gateway.errors import Refusal
from gateway.incoming import Receive, Scope, Send
from gateway.processes.messages import Message
from gateway.processes.wire import Wire

_PIECE: Final = 64 << 10
"""Bytes of an answer in one message at most."""


class Asked(Message, frozen=True):
    """The head of a request. client: address and port of who asks."""

    method: str
    scheme: str
    path: str
    raw_path: bytes
    query: bytes
    http_version: str
    headers: list[tuple[bytes, bytes]]
    client: tuple[str, int] | None
    server: tuple[str, int | None] | None


class Head(Message, frozen=True):
    """The head of an answer."""

    status: int
    headers: list[tuple[bytes, bytes]]


class Piece(Message, frozen=True):
    """Bytes of a body, of a request or an answer. more: others follow."""

    data: bytes
    more: bool


async def ask(hand_over: Callable[[socket.socket], None], scope: Scope, receive: Receive, send: Send) -> None:
    """Have the parent answer a request. hand_over: gives it one end of a pair. Raises Refusal when it cannot."""
    ours, theirs = socket.socketpair()
    try:
        hand_over(theirs)
    except OSError:
        ours.close()
        raise Refusal("overloaded", "the gateway's operators' pages are busy: try again soon") from None
    finally:
        theirs.close()
    wire: Wire[Head | Piece] = await Wire.open(ours, Head | Piece)
    wire.say(_asked(scope))
    upwards = asyncio.create_task(_upwards(wire, receive))
    try:
        if not await _downwards(wire, send) and not upwards.done():  # else the client has left
            raise Refusal("internal_error")
    finally:
        upwards.cancel()
        wire.close()


async def answer(app: ASGIApp, end: socket.socket) -> None:
    """Answer what a child asks over this end."""
    wire: Wire[Asked | Piece] = await Wire.open(end, Asked | Piece)
    try:
        asked = await wire.hear()
        if isinstance(asked, Asked):
            await app(_scope(asked), _receiver(wire), _sender(wire))
        await wire.finish()
    finally:
        wire.close()


async def _upwards(wire: Wire[Any], receive: Receive) -> None:
    """The body, and the end of the connection when the client leaves."""
    while (message := await receive())["type"] == "http.request":
        wire.say(Piece(message.get("body", b""), message.get("more_body", False)))
        await wire.flushed()
    wire.close()


async def _downwards(wire: Wire[Head | Piece], send: Send) -> bool:
    """Whether an answer began: one that breaks off is left without its end."""
    began = False
    async for message in wire.messages():
        if isinstance(message, Head):
            began = True
            await send({"type": "http.response.start", "status": message.status, "headers": message.headers})
        else:
            await send({"type": "http.response.body", "body": message.data, "more_body": message.more})
    return began


def _receiver(wire: Wire[Asked | Piece]) -> Receive:
    async def receive() -> dict[str, Any]:
        message = await wire.hear()
        if isinstance(message, Piece):
            return {"type": "http.request", "body": message.data, "more_body": message.more}
        return {"type": "http.disconnect"}

    return receive


def _sender(wire: Wire[Any]) -> Send:
    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            wire.say(Head(message["status"], message["headers"]))
            return
        for data, more in _pieces(message.get("body", b""), message.get("more_body", False)):
            wire.say(Piece(data, more))
            await wire.flushed()

    return send


def _pieces(body: bytes, more: bool) -> Iterator[tuple[bytes, bool]]:
    for start in range(0, len(body) or 1, _PIECE):
        yield body[start : start + _PIECE], more or start + _PIECE < len(body)


def _asked(scope: Scope) -> Asked:
    return Asked(
        scope["method"],
        scope["scheme"],
        scope["path"],
        scope.get("raw_path") or scope["path"].encode(),
        scope["query_string"],
        scope["http_version"],
        list(scope["headers"]),
        scope.get("client"),
        scope.get("server"),
    )


def _scope(asked: Asked) -> Scope:
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": asked.http_version,
        "method": asked.method,
        "scheme": asked.scheme,
        "path": asked.path,
        "raw_path": asked.raw_path,
        "query_string": asked.query,
        "root_path": "",
        "headers": asked.headers,
        "client": asked.client,
        "server": asked.server,
        "state": {},
    }
