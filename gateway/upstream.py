"""The way to the engines: one pooled HTTP/1.1 client, and its errors translated by a table.

Connections idle less long than the engines keep them, so a pooled one is rarely closed under us; when it is,
the fault says whether any byte of the answer had arrived. Bodies are never decompressed: bytes pass as they came.
"""

from collections.abc import Iterable
from typing import Literal

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from gateway.config import Config
from prefix.errors import EngineError

FaultKind = Literal["refused", "unreachable", "disconnected", "timeout", "invalid"]

_FAULTS: tuple[tuple[type[BaseException], FaultKind], ...] = (
    (aiohttp.ConnectionTimeoutError, "unreachable"),
    (aiohttp.ClientConnectorError, "unreachable"),
    (aiohttp.ServerTimeoutError, "timeout"),
    (aiohttp.ServerDisconnectedError, "disconnected"),
    (aiohttp.ClientOSError, "disconnected"),
    (aiohttp.ClientPayloadError, "disconnected"),
    (aiohttp.ClientError, "invalid"),
    (TimeoutError, "timeout"),
    (OSError, "disconnected"),
)
CLIENT_ERRORS = (aiohttp.ClientError, TimeoutError, OSError)
"""What the client library raises; `fault` gives each its kind. The most specific entry of the table wins."""

Response = aiohttp.ClientResponse


class EngineFault(EngineError):
    """The engine did not answer, or not to the end. kind: in which way (refused: nobody listens there)."""

    def __init__(self, kind: FaultKind, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


def fault(error: BaseException) -> EngineFault:
    """The fault behind an error of the client library."""
    kind = next(kind for known, kind in _FAULTS if isinstance(error, known))
    if isinstance(error, aiohttp.ClientConnectorError) and isinstance(error.os_error, ConnectionRefusedError):
        kind = "refused"
    return EngineFault(kind, str(error) or type(error).__name__)


class Upstream:
    """A connection pool to all engines. Use as an async context manager."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._urls: dict[tuple[str, str], URL] = {}

    async def __aenter__(self) -> "Upstream":
        config = self._config
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=config.pool_idle_s, ttl_dns_cache=30),
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=config.connect_timeout_s, sock_read=config.read_timeout_s
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
            max_field_size=65536,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def post(self, base: str, path: str, headers: Iterable[tuple[str, str]], body: bytes) -> Response:
        """Send a request and wait for the response's headers. Redirects are not followed. Raises EngineFault."""
        url = self._urls.get((base, path))
        if url is None:
            url = self._urls[base, path] = URL(base + path, encoded=True)
        try:
            return await self._session.post(url, data=body, headers=CIMultiDict(headers), allow_redirects=False)
        except CLIENT_ERRORS as error:
            raise fault(error) from error

    async def get(self, url: str, *, timeout_s: float, limit: int = 4 << 20) -> tuple[int, bytes]:
        """Status and body of a small resource, at most `limit` bytes of it. Raises EngineFault."""
        timeout = aiohttp.ClientTimeout(total=timeout_s)
        try:
            async with self._session.get(url, timeout=timeout, allow_redirects=False) as response:
                return response.status, await response.content.read(limit)
        except CLIENT_ERRORS as error:
            raise fault(error) from error
