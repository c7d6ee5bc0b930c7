"""Connections to one worker: opened to the first of its addresses that answers, kept while idle, reused once.

An answer holds its connection until it is closed; only a complete one gives it back for the next request.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable
from ipaddress import ip_address
from urllib.parse import urlsplit

from gateway.config import Config
from gateway.http1 import Connection, EngineFault, FaultKind


class Response:
    """An engine's answer: status and headers (lower-case names) at once, the body by `read` as it arrives."""

    __slots__ = ("_connection", "_first_by", "_pool", "_timeout", "headers", "status")

    def __init__(self, pool: "Pool", connection: Connection, first_by: float, timeout_s: float) -> None:
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


class Pool:
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
            raise EngineFault(
                "unreachable", f"cannot connect: {error.strerror or str(error) or 'timed out'}"
            ) from error
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


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
