"""One request off the socket: its headers sorted, and then, when they may go on, its body, bounded.

Header rules: RFC 9110 7.6.1 (hop-by-hop fields and those the Connection field names are for this hop only).
Accept-Encoding is asked for as identity, so that usage can be read in the bytes that are forwarded.
"""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, NamedTuple

from gateway.errors import Refusal
from gateway.held import Held
from gateway.identity import PREFIX

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
RawHeaders = Iterable[tuple[bytes, bytes]]

_HOP = frozenset(
    b"connection keep-alive te trailer transfer-encoding upgrade proxy-authenticate proxy-authorization "
    b"proxy-connection proxy-authentication-info".split()
)
_SET_ANEW = frozenset((b"host", b"content-length", b"expect", b"accept-encoding"))
_NOT_ENGINES = _HOP | frozenset(
    f"access-control-{each}".encode()
    for each in "allow-origin allow-credentials allow-headers allow-methods expose-headers max-age".split()
)
_DROPPED = _HOP | _SET_ANEW


class ClientGone(Exception):
    """The client closed before its request was complete."""


class Rest:
    """What is still to come of a body that is sent on as it comes. size: bytes. started: some of it was asked for.

    ended: told once, when all has come or nobody wants more.
    """

    __slots__ = ("_left", "_receive", "ended", "size", "started")

    def __init__(self, receive: Receive, size: int) -> None:
        self._receive = receive
        self._left = size
        self.size = size
        self.started = False
        self.ended: Callable[[], None] = _nothing

    async def read(self) -> bytes:
        """The next bytes, b"" at the end. Raises ClientGone."""
        self.started = True
        while self._left > 0:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            piece: bytes = message.get("body", b"")
            self._left -= len(piece)
            if piece:
                return piece
        return b""

    def end(self) -> None:
        """Nobody asks for more."""
        self.ended()
        self.ended = _nothing


class Incoming(NamedTuple):
    """A request. headers: to forward; own: the x-prefixgate-* ones, lower case, not forwarded.

    authorization: the Authorization header, or the x-api-key header of Anthropic's clients. method: GET for HEAD.
    declared: its content-length, 0 without one. body: all of it, or what stands before its `rest`.
    """

    method: str
    path: str
    query: bytes
    headers: list[tuple[bytes, bytes]]
    own: dict[bytes, bytes]
    authorization: bytes | None
    request_id: bytes | None
    declared: int
    body: bytes = b""
    rest: Rest | None = None


def read_head(scope: Scope, limit: int) -> Incoming:
    """Sort the headers of a request whose body is still to come. limit: bytes of it.

    Raises Refusal `body_too_large` or `unsupported_encoding`.
    """
    headers: list[tuple[bytes, bytes]] = [(b"accept-encoding", b"identity")]
    own: dict[bytes, bytes] = {}
    authorization: bytes | None = None
    request_id: bytes | None = None
    declared = 0
    named = _named_by_connection(scope["headers"])
    for name, value in scope["headers"]:
        if name.startswith(PREFIX):
            own[name] = value
            continue
        if name == b"authorization":
            authorization = value
        elif name == b"x-api-key":
            authorization = authorization or value
        elif name == b"content-length" and value.isdigit():
            declared = int(value[:20])
            if declared > limit:
                raise _too_large(limit)
        elif name == b"content-encoding" and value.lower() != b"identity":
            raise Refusal("unsupported_encoding")
        elif name == b"x-request-id":
            request_id = value
        if name not in _DROPPED and name not in named:
            headers.append((name, value))
    method = "GET" if scope["method"] == "HEAD" else scope["method"]
    path, query = scope["path"], scope["query_string"]
    return Incoming(method, path, query, headers, own, authorization, request_id, declared)


async def read_body(
    head: Incoming, receive: Receive, limit: int, held: Held, stream_over: int | None = None
) -> Incoming:
    """The request with its body: all of it, or a `rest` to read where it is longer than `stream_over` says.

    Raises Refusal `body_too_large` or `overloaded`, and ClientGone.
    """
    if stream_over is not None and head.declared > stream_over:
        return head._replace(rest=Rest(receive, head.declared))
    return head._replace(body=await _read_body(receive, limit, held))


def response_headers(raw: RawHeaders) -> list[tuple[bytes, bytes]]:
    """The end-to-end headers of an engine's response, in order, but for CORS. Names are lower case."""
    named = _named_by_connection(raw)
    return [(name, value) for name, value in raw if name not in _NOT_ENGINES and name not in named]


def _named_by_connection(headers: RawHeaders) -> frozenset[bytes]:
    named: frozenset[bytes] = frozenset()
    for name, value in headers:
        if name == b"connection" and value != b"keep-alive":
            named |= {token.strip().lower() for token in value.split(b",")}
    return named


async def _read_body(receive: Receive, limit: int, held: Held) -> bytes:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientGone
    body: bytes = message.get("body", b"")
    if not message.get("more_body", False):
        if len(body) > limit:
            raise _too_large(limit)
        held.take(len(body))
        return body
    held.take(len(body))
    parts, size = [body], len(body)
    while size <= limit and message.get("more_body", False):
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        held.take(len(parts[-1]))
    if size > limit:
        raise _too_large(limit)
    return b"".join(parts)


def _nothing() -> None:
    pass


def _too_large(limit: int) -> Refusal:
    return Refusal("body_too_large", f"the body is over the limit of {limit} bytes (max_body_bytes)")
