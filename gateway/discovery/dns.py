"""Engines from a name: each of its addresses is one, as with a headless Service. Asked again and again.

A name that does not resolve changes nothing: a resolver that is away must not take the fleet with it, and an engine
that is really gone is noticed by its health check.
"""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator

from gateway.discovery import Endpoints
from gateway.discovery.settings import dns_target

_log = logging.getLogger("prefixgate")


class DnsSource:
    """One name and port. url: `dns://name:port`. interval_s: between two questions."""

    def __init__(self, url: str, interval_s: float) -> None:
        self._scheme, self._name, self._port = dns_target(url)
        self._interval_s = interval_s

    async def watch(self) -> AsyncIterator[Endpoints]:
        """See `Source`."""
        known: dict[str, bool] | None = None
        complained = False
        while True:
            try:
                found = await self._resolve()
            except OSError as error:
                if not complained:
                    complained = True
                    reason = error.strerror or error
                    _log.warning("discovery: %s: %s; the engines found before stay", self._name, reason)
            else:
                complained = False
                if found != known:
                    known = found
                    yield found
            await asyncio.sleep(self._interval_s)

    async def _resolve(self) -> dict[str, bool]:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(self._name, self._port, type=socket.SOCK_STREAM)
        addresses = sorted({str(address[0]) for *_, address in found})
        return {f"{self._scheme}://{bracketed(address)}:{self._port}": True for address in addresses}


def bracketed(address: str) -> str:
    """An IP address as it stands in a URL."""
    return f"[{address}]" if ":" in address else address
