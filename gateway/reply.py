"""What the gateway itself says in a response: its headers, and its refusals."""

import asyncio
import contextlib
import re

import msgspec

from gateway.admission import limit_headers
from gateway.errors import Refusal
from gateway.exchange import Exchange
from gateway.incoming import Send, response_headers
from gateway.pool import Response
from gateway.prepared import Prepared

_FAREWELL_S = 1.0
_INVISIBLE = re.compile(rb"[^!-~]")


def start(exchange: Exchange, response: Response, *, streams: bool, trusted: bool) -> dict[str, object]:
    """The ASGI message that begins the client's response: the engine's end-to-end headers, then ours.

    trusted: the caller may see which worker it was and what was expected to be cached.
    """
    headers = response_headers(response.headers)
    if streams:  # its length changes when usage is hidden or an error event is added
        headers = [header for header in headers if header[0] != b"content-length"]
    echoed = any(name == b"x-request-id" for name, _ in headers)
    headers += _own_headers(exchange, echo=not echoed)
    if trusted and exchange.prepared is not None and exchange.prepared.asked_model is not None:
        headers.append((b"x-prefixgate-model-route", _model_route(exchange.prepared)))
    if trusted and exchange.worker is not None and exchange.route is not None:
        headers.append((b"x-prefixgate-worker", exchange.route.worker.encode()))
        expected = str(exchange.route.expected_cached_tokens).encode()
        headers.append((b"x-prefixgate-expected-cached-tokens", expected))
    return {"type": "http.response.start", "status": response.status, "headers": headers}


def early_start(exchange: Exchange) -> dict[str, object]:
    """The ASGI message that begins a stream before the engine has answered: only what is known by now."""
    headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache"), *_own_headers(exchange)]
    return {"type": "http.response.start", "status": 200, "headers": headers}


def error_event(status: int, answer: bytes | None, dialect: str) -> bytes:
    """An engine's whole answer where a stream had begun: its own words when they are JSON."""
    try:
        named = b"event: error\n" if dialect == "anthropic" else b""
        return named + b"data: " + msgspec.json.format(answer or b"", indent=-1) + b"\n\n"
    except msgspec.DecodeError:
        return Refusal("engine_error", f"the engine answered {status}").event(dialect)


def _model_route(prepared: Prepared) -> bytes:
    """`asked > given`, in visible ASCII."""
    return _INVISIBLE.sub(b"", f"{prepared.asked_model}>{prepared.model}".encode("ascii", "replace"))


def _own_headers(exchange: Exchange, *, echo: bool = True) -> list[tuple[bytes, bytes]]:
    headers = [(b"x-prefixgate-request-id", exchange.request_id.encode())]
    if echo and exchange.client_request_id is not None:
        headers.append((b"x-request-id", exchange.client_request_id))
    if exchange.lease is not None:
        headers += limit_headers(exchange.lease)
    prepared = exchange.prepared
    if prepared is not None and prepared.prompt_version is not None:
        version = prepared.prompt_version.encode("ascii", "replace")
        headers.append((b"x-prefixgate-prompt-version", _INVISIBLE.sub(b"", version)))
    if prepared is not None and prepared.changes:
        kinds = dict.fromkeys(change.kind for change in prepared.changes)
        headers.append((b"x-prefixgate-changes", ", ".join(kinds).encode()))
    return headers


async def break_off(exchange: Exchange, refusal: Refusal, send: Send) -> None:
    """End an answer whose head has left: a stream with an error event, and never with a clean end."""
    if not exchange.streamed:
        return
    event = refusal.event(exchange.api.errors)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_FAREWELL_S):  # the client may not be reading
            await send({"type": "http.response.body", "body": b"\n\n" + event, "more_body": True})


async def refuse(exchange: Exchange, refusal: Refusal, send: Send) -> None:
    """Answer with an error of the gateway's own."""
    dialect = exchange.api.errors
    headers = refusal.headers(dialect) + _own_headers(exchange)
    await send({"type": "http.response.start", "status": refusal.kind.status, "headers": headers})
    await send({"type": "http.response.body", "body": refusal.body(dialect), "more_body": False})
