"""Which web pages may read the proxied paths: cross-origin resource sharing, off unless configured.

One idea: the gateway decides, whatever an engine answers (SGLang lets every page in), and every response of a proxied
path says the same: answers, errors, streams. Nothing is said on the admin surface. Keys travel in headers, not in
cookies, so credentials are never allowed. Fetch standard, https://fetch.spec.whatwg.org/#http-cors-protocol.
"""

from collections.abc import Iterable, MutableMapping
from typing import Any

from gateway.incoming import Scope, Send

Headers = list[tuple[bytes, bytes]]
_PREFLIGHT_S = b"600"


class Cors:
    """The origins of one configuration."""

    __slots__ = ("_all", "_origins")

    def __init__(self, origins: Iterable[str]) -> None:
        self._origins = frozenset(origin.encode("latin-1") for origin in origins)
        self._all = b"*" in self._origins

    def __bool__(self) -> bool:
        """Some origin is allowed."""
        return bool(self._origins)

    def headers(self, scope: Scope) -> Headers:
        """What the response to this request says, to a preflight what may be sent as well."""
        headers: Headers = [] if self._all else [(b"vary", b"origin")]
        sent = dict(scope["headers"])
        origin = sent.get(b"origin")
        if origin is None or not (self._all or origin in self._origins):
            return headers
        headers.append((b"access-control-allow-origin", b"*" if self._all else origin))
        method = sent.get(b"access-control-request-method")
        if scope["method"] != "OPTIONS" or method is None:
            return [*headers, (b"access-control-expose-headers", b"*")]
        asked = sent.get(b"access-control-request-headers")
        if asked is not None:
            headers.append((b"access-control-allow-headers", asked))
        return [*headers, (b"access-control-allow-methods", method), (b"access-control-max-age", _PREFLIGHT_S)]

    def saying(self, scope: Scope, send: Send) -> Send:
        """`send`, with these headers on the start of the response."""
        own = self.headers(scope)

        async def send_saying(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *own]}
            await send(message)

        return send_saying


async def options(allow: str, send: Send) -> None:
    """The answer to OPTIONS: which methods the path takes."""
    await send({"type": "http.response.start", "status": 204, "headers": [(b"allow", allow.encode())]})
    await send({"type": "http.response.body", "body": b"", "more_body": False})
