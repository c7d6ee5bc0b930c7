"""uvicorn's HTTP protocol with bounds: so many headers, so many bytes of them, and neither head nor body for ever.

uvicorn's httptools protocol has none of them, so one connection could fill the memory with one header, and thousands
could wait for a byte that never comes. A head that is too large is answered with 431 as soon as it shows (RFC 6585),
a request that does not arrive in time with 408, and the connection is closed: what else the client sends cannot be
framed any more. A request that comes in one piece, as most do, costs no timer. On proxied paths the proxy's own clock
watches the body for `body_timeout_s` and says so in the API's words; here the same limit is for whatever else is
asked.
"""

import asyncio
from collections.abc import Callable
from http import HTTPStatus

from gateway.errors import Refusal
from gateway.plain_http import PlainHttp

HEAD_TIMEOUT_S = 30.0
BEHIND_S = 2.0
"""How much later than the proxy, whose clock ticks twice a second: where both watch, it is the one that speaks."""


class _TooLarge(Exception):
    """The head is over a limit: ends the parsing."""


class BoundedProtocol(PlainHttp):
    """Limits are attributes of the subclass that `bounded` makes."""

    max_header_bytes = 64 << 10
    max_headers = 128
    body_timeout_s: Callable[[], float]
    lost: Callable[[], None]

    _refusal: Refusal | None = None
    _clock: asyncio.TimerHandle | None = None
    _due: str | None = None
    _unfinished = 0

    def data_received(self, data: bytes) -> None:
        if self._refusal is not None:
            return
        self._unfinished += len(data)
        super().data_received(data)
        if self._due == "head" and self._unfinished > self.max_header_bytes and self._refusal is None:
            self._too_large()
            self.send_400_response("")
        if self._due is not None and self._clock is None:
            limit_s = HEAD_TIMEOUT_S if self._due == "head" else self.body_timeout_s()
            wait_s = limit_s if self._due == "head" else limit_s + BEHIND_S
            self._clock = self.loop.call_later(wait_s, self._too_slow, self._due, limit_s)

    def on_message_begin(self) -> None:
        self._unfinished = 0
        self._due = "head"
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._arrived("body")
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > self.max_header_bytes or len(self.headers) > self.max_headers:
            self._too_large()
            raise _TooLarge
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._arrived(None)
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._arrived(None)
        super().connection_lost(exc)
        self.lost()

    def send_400_response(self, msg: str) -> None:
        """uvicorn's way to answer what it cannot parse; ours when we know why."""
        self._arrived(None)
        if self._refusal is None:
            super().send_400_response(msg)
            return
        status = HTTPStatus(self._refusal.kind.status)
        head = [f"HTTP/1.1 {status} {status.phrase}\r\n".encode(), b"connection: close\r\n"]
        head += [b"%s: %s\r\n" % header for header in self._refusal.headers()]
        self.transport.write(b"".join([*head, b"\r\n", self._refusal.body()]))
        self.transport.close()

    def _arrived(self, due: str | None) -> None:
        """What was due is here; `due` is next."""
        self._due = due
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _too_large(self) -> None:
        most = f"{self.max_headers} headers (max_headers) or {self.max_header_bytes} bytes (max_header_bytes)"
        self._refusal = Refusal("headers_too_large", f"the request's head is over the limit of {most}")

    def _too_slow(self, due: str, limit_s: float) -> None:
        self._refusal = Refusal("request_timeout", f"the request's {due} did not arrive within {limit_s:g} s")
        if due == "body" and self.cycle.response_started:
            self.transport.close()
        else:
            self.send_400_response("")


def nothing() -> None:
    """What nobody wants to know."""


def bounded(
    max_header_bytes: int, max_headers: int, body_timeout_s: Callable[[], float], lost: Callable[[], None] = nothing
) -> type[BoundedProtocol]:
    """The protocol with these limits, as uvicorn wants it. body_timeout_s: asked each time, it may change. lost:
    called at the end of every connection."""
    limits = {"max_header_bytes": max_header_bytes, "max_headers": max_headers}
    called = {"body_timeout_s": staticmethod(body_timeout_s), "lost": staticmethod(lost)}
    return type("BoundedProtocol", (BoundedProtocol,), limits | called)
