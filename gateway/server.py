"""uvicorn as the gateway runs it: our protocol, our signals, its own listener or connections handed over."""

import asyncio
import gc
import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from math import ceil
from typing import Any, Literal

import uvicorn

from gateway.config import Config
from gateway.http_server import BoundedProtocol, bounded, nothing
from gateway.tls import server_tls

_COLLECTIONS = 10_000, 50, 100
"""Python's default, (700, 10, 10), took 9 % of the gateway's CPU, and every seven seconds at 500 requests a second it
looked through all tables, which stopped every stream for 0.2 s. Requests leave no cycles behind but when something
fails."""


class Server(uvicorn.Server):
    """accepting: set when it serves. Signals are ours: uvicorn would end by them, not with exit 0."""

    def __init__(self, config: uvicorn.Config, protocol: type[BoundedProtocol]) -> None:
        super().__init__(config)
        self._protocol = protocol
        self.accepting = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.accepting.set()

    async def take(self, connection: socket.socket) -> None:
        """Serve a connection that somebody else accepted. Raises OSError when nothing comes of it."""
        make = partial(self._protocol, self.config, self.server_state, self.lifespan.state)
        await asyncio.get_running_loop().connect_accepted_socket(make, connection, ssl=self.config.ssl)


def make_server(
    app: Any,
    config: Config,
    body_timeout_s: Callable[[], float],
    *,
    lifespan: Literal["on", "off"] = "on",
    lost: Callable[[], None] = nothing,
) -> Server:
    """A server of this application. lost: told of every connection that ended. Raises ConfigError (certificates)."""
    protocol = bounded(config.max_header_bytes, config.max_headers, body_timeout_s, lost)
    return Server(
        uvicorn.Config(
            app,
            loop="uvloop",
            http=protocol,
            ws="none",
            lifespan=lifespan,
            interface="asgi3",
            access_log=False,
            log_config=None,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=ceil(config.drain_timeout_s),
            **server_tls(config),
        ),
        protocol,
    )


def set_up_logs() -> None:
    """Our lines, and of uvicorn's only what nobody foresaw."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
    logging.getLogger("uvicorn.error").addFilter(_unforeseen)


def collect_rarely() -> None:
    """What this process has by now stays for good; from now on garbage is looked for as a server needs it."""
    gc.freeze()
    gc.set_threshold(*_COLLECTIONS)


def new_loop() -> asyncio.AbstractEventLoop:
    """An event loop of uvloop."""
    import uvloop

    return uvloop.new_event_loop()


def _unforeseen(record: logging.LogRecord) -> bool:
    """Not what is done on purpose: a broken stream left without its end, a request cut after the drain timeout."""
    cut = record.exc_info is not None and isinstance(record.exc_info[1], asyncio.CancelledError)
    return not cut and "without completing response" not in record.getMessage()
