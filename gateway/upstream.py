"""The way to the engines: pooled connections, and what went wrong in the words of one table.

Connections idle less long than the engines keep them, so a pooled one is rarely closed under us. When it is, and no
byte of the answer had arrived, the request goes once more over a fresh connection to the same worker: the engine
has not seen it (case 54).
"""

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

from gateway.config import Config
from gateway.credentials import NO_SECRETS, Secrets
from gateway.http1 import Connection, EngineFault, FaultKind
from gateway.identity import CREDENTIALS
from gateway.incoming import Rest
from gateway.tls import engine_tls
from gateway.watch import Watch

Headers = Iterable[tuple[bytes, bytes]]
_TICK_S = 0.5
_SAFE_SHARE = 0.8
"""Of the engine's keep-alive: its clock started earlier than ours."""


def idle_s(wanted_s: float, engine_s: float) -> float:
    """How long a connection may idle here: strictly less long than the engine keeps it (case 54)."""
    return min(wanted_s, engine_s * _SAFE_SHARE)


class Response:
    """An engine's answer: status and headers (lower-case names) at once, the body by `read` as it arrives."""

    __slots__ = ("_connection", "_first_by", "_pool", "_timeout", "headers", "status")

    def __init__(self, pool: "_Pool", connection: Connection, first_by: float, timeout_s: float) -> None:
        self._pool = pool
        self._connection = connection
        self._first_by = first_by
        self._timeout = timeout_s
        self.status = connection.status
        self.headers = connection.headers

    @property
    def content_type(self) -> bytes:
        """The media type without parameters, lower case; b"" when there is none."""
        value = next((value for name, value in self.headers if name == b"content-type"), b"")
        return value.partition(b";")[0].strip().lower()

    @property
    def at_end(self) -> bool:
        """The whole body has been read."""
        return self._connection.at_end

    async def read(self) -> bytes:
        """The bytes that arrived since the last call, b"" at the end. Raises EngineFault."""
        deadline = self._first_by or self._pool.now() + self._timeout
        self._first_by = 0.0
        return await self._connection.read(deadline)

    def close(self) -> None:
        """Done with it: the connection is reused when the answer was complete, dropped otherwise."""
        self._pool.give_back(self._connection)


class _Pool:
    """Idle connections to one worker."""

    def __init__(
        self, url: str, config: Config, connections: set[Connection], tls: Callable[[], ssl.SSLContext]
    ) -> None:
        parts = urlsplit(url)
        self.authority = parts.netloc.encode()
        self.base = parts.path.rstrip("/")
        self._host = parts.hostname or ""
        self._literal = _is_address(self._host)
        self._tls = tls() if parts.scheme == "https" else None
        self._port = parts.port or (443 if self._tls else 80)
        self._config = config
        self.idle_s = config.pool_idle_s
        self._all = connections
        self._idle: list[Connection] = []
        self._loop = asyncio.get_running_loop()
        self.now = self._loop.time

    def take(self) -> Connection | None:
        """An idle connection that the engine has not closed and will not soon."""
        oldest = self.now() - self.idle_s
        while self._idle:
            connection = self._idle.pop()
            if not connection.lost and connection.idle_since > oldest:
                return connection
            self.drop(connection)
        return None

    async def connect(self) -> Connection:
        """A fresh connection, to the first of the host's addresses that takes one.

        Raises EngineFault `refused` or `unreachable`.
        """
        faults: list[EngineFault] = []
        try:
            async with asyncio.timeout(self._config.connect_timeout_s):
                for address in await self._addresses():
                    try:
                        return await self._connect(address)
                    except OSError as error:
                        kind: FaultKind = "refused" if isinstance(error, ConnectionRefusedError) else "unreachable"
                        faults.append(EngineFault(kind, f"cannot connect: {error.strerror or error}"))
        except OSError as error:  # the name, or the time
            raise EngineFault("unreachable", f"cannot connect: {error.strerror or error or 'timed out'}") from error
        raise next((fault for fault in faults if fault.kind == "refused"), faults[0])

    async def _addresses(self) -> list[str]:
        if self._literal:  # asking for it would take a thread, and the time to get the interpreter back from it
            return [self._host]
        found = await self._loop.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
        return list(dict.fromkeys(str(address[0]) for *_, address in found))

    async def _connect(self, address: str) -> Connection:
        connection = Connection(self._loop)
        name = self._host if self._tls else None
        try:
            await self._loop.create_connection(
                lambda: connection, address, self._port, ssl=self._tls, server_hostname=name
            )
        except BaseException:
            connection.close()
            raise
        self._all.add(connection)
        return connection

    def give_back(self, connection: Connection) -> None:
        """Keep it for the next request when its answer is complete and it may be kept; else drop it."""
        if connection.at_end and connection.keep and not connection.lost:
            connection.used = True
            connection.idle_since = self.now()
            self._idle.append(connection)
        else:
            self.drop(connection)

    def drop(self, connection: Connection) -> None:
        """Close it for good."""
        self._all.discard(connection)
        connection.close()

    def sweep(self) -> None:
        """Close what has idled too long."""
        oldest = self.now() - self.idle_s
        stale = [c for c in self._idle if c.lost or c.idle_since <= oldest]
        self._idle = [c for c in self._idle if c not in stale]
        for connection in stale:
            self.drop(connection)


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
        self._pools: dict[str, _Pool] = {}
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

    def _pool(self, base: str) -> _Pool:
        pool = self._pools.get(base)
        if pool is None:
            pool = self._pools[base] = _Pool(base, self._config, self._open, self._tls)
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


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
