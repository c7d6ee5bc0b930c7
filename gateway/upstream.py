"""The way to the engines: pooled connections, and what went wrong in the words of one table.

Connections idle less long than the engines keep them, so a pooled one is rarely closed under us. When it is, and no
byte of the answer had arrived, the request goes once more over a fresh connection to the same worker: the engine
has not seen it (case 54).
"""

import asyncio
import ssl
from collections.abc import Callable, Iterable

from gateway.config import Config
from gateway.credentials import NO_SECRETS, Secrets
from gateway.http1 import Connection, EngineFault
from gateway.identity import CREDENTIALS
from gateway.incoming import Rest
from gateway.pool import Pool, Response
from gateway.tls import engine_tls
from gateway.watch import Watch

Headers = Iterable[tuple[bytes, bytes]]
_TICK_S = 0.5
_SAFE_SHARE = 0.8
"""Of the engine's keep-alive: its clock started earlier than ours."""


def idle_s(wanted_s: float, engine_s: float) -> float:
    """How long a connection may idle here: strictly less long than the engine keeps it (case 54)."""
    return min(wanted_s, engine_s * _SAFE_SHARE)


class Upstream:
    """Connections to all engines. Use as an async context manager.

    secrets: what to show which engine. watches: requests whose time this clock watches too.
    """

    def __init__(self, config: Config, secrets: Secrets = NO_SECRETS) -> None:
        self._config = config
        self.secrets = secrets
        self._context: ssl.SSLContext | None = None
        if config.engine_ca_file is not None:
            self._tls()
        self._pools: dict[str, Pool] = {}
        self._open: set[Connection] = set()
        self.watches: set[Watch] = set()

    async def __aenter__(self) -> "Upstream":
        self._clock = asyncio.get_running_loop().create_task(self._tick())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._clock.cancel()
        for connection in tuple(self._open):
            connection.close()

    async def post(
        self,
        base: str,
        path: str,
        headers: Headers,
        body: bytes,
        method: str = "POST",
        again: Callable[[], bool] = lambda: True,
        rest: Rest | None = None,
    ) -> Response:
        """Send a request; its answer once status and headers are there. rest: what follows `body`.

        The engine's own credential takes the place of the client's among `headers`. again: asked before it goes out
        a second time because a kept connection was closed. Raises EngineFault.
        """
        timeouts = self._config.first_byte_timeout_s, self._config.read_timeout_s
        return await self._request(base, method.encode(), path, headers, body, timeouts, again, rest)

    async def get(
        self, url: str, path: str, headers: Headers = (), *, timeout_s: float, limit: int = 4 << 20
    ) -> tuple[int, bytes]:
        """Status and body of a small resource, at most `limit` bytes of it, all within `timeout_s`.

        The engine's own credential takes the place of any among `headers`. Raises EngineFault.
        """
        try:
            async with asyncio.timeout(timeout_s):
                response = await self._request(url, b"GET", path, headers, b"", (timeout_s, timeout_s))
                try:
                    return response.status, await _read(response, limit)
                finally:
                    response.close()
        except TimeoutError:
            raise EngineFault("timeout", f"{path} was not answered within {timeout_s:g} s") from None

    def keeps(self, base: str, engine_s: float) -> None:
        """The engine there closes a connection that idles for so many seconds."""
        self._pool(base).idle_s = idle_s(self._config.pool_idle_s, engine_s)

    def forget(self, base: str) -> None:
        """A worker was taken out: its idle connections go."""
        pool = self._pools.pop(base, None)
        while pool is not None and (connection := pool.take()) is not None:
            pool.drop(connection)

    def _tls(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = engine_tls(self._config)
        return self._context

    async def _request(
        self,
        base: str,
        method: bytes,
        path: str,
        headers: Headers,
        body: bytes,
        timeouts: tuple[float, float],
        again: Callable[[], bool] = lambda: True,
        rest: Rest | None = None,
    ) -> Response:
        """timeouts: seconds to the first byte of the body, and between two bytes."""
        pool = self._pool(base)
        credential = self.secrets.authorization(base)
        if credential is not None:
            own = [header for header in headers if header[0] not in CREDENTIALS]
            headers = [(b"authorization", credential), *own]
        lines = b"".join([b"%s: %s\r\n" % header for header in headers])
        size = len(body) if rest is None else len(body) + rest.size
        head = b"%s %s HTTP/1.1\r\nhost: %s\r\ncontent-length: %d\r\n%s\r\n"
        target = (pool.base + path).encode("latin-1", "backslashreplace")
        pieces = (head % (method, target, pool.authority, size, lines), body)
        connection = (pool.take() if rest is None else None) or await pool.connect()
        first_by = pool.now() + timeouts[0]
        try:
            try:
                connection.send(pieces)
                if rest is not None:
                    await connection.pour(rest.read, timeouts[0])
                    rest.end()
                    first_by = pool.now() + timeouts[0]
                await connection.head(first_by)
            except EngineFault as fault:
                if fault.kind != "disconnected" or not connection.used or connection.answered or not again():
                    raise
                pool.drop(connection)
                try:
                    connection = await pool.connect()
                except EngineFault:  # perhaps it died of this very request: that is more than refusing a connection
                    raise fault from None
                connection.send(pieces)
                await connection.head(first_by)
        except BaseException:
            pool.drop(connection)
            raise
        return Response(pool, connection, first_by, timeouts[1])

    def _pool(self, base: str) -> Pool:
        pool = self._pools.get(base)
        if pool is None:
            pool = self._pools[base] = Pool(base, self._config, self._open, self._tls)
        return pool

    async def _tick(self) -> None:
        """One clock for all: fails those who waited too long, closes what idled too long."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(_TICK_S)
            now = loop.time()
            for connection in tuple(self._open):
                if connection.deadline is not None and connection.deadline < now:
                    connection.fail("timeout", "the engine did not answer in time")
            for watch in tuple(self.watches):
                if watch.deadline is not None and watch.deadline < now:
                    watch.expire()
            for pool in self._pools.values():
                pool.sweep()


async def _read(response: Response, limit: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while size < limit and (chunk := await response.read()):
        parts.append(chunk)
        size += len(chunk)
    return b"".join(parts)
