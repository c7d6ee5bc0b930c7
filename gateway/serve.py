"""`prefixgate serve`: bind, say what was found, run until a signal, drain."""

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Callable

import click

from gateway.app import Gateway, create_app
from gateway.config import Config
from gateway.credentials import load_secrets
from gateway.errors import Refusal
from gateway.otlp_settings import find_otlp
from gateway.server import Server, collect_rarely, make_server, new_loop, set_up_logs
from gateway.workers import Worker
from prefix.errors import ConfigError

_FIRST_LOOK_S = 2.5
"""SGLang's health check takes a second: what is found until then is shown at the start."""
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - addresses to listen on, and to be reached at
ADMIN_TOKEN = "PREFIXGATE_ADMIN_TOKEN"  # noqa: S105 - the variable's name, not the token


def run(config: Config, reload: Callable[[], Config]) -> None:
    """Serve until SIGTERM or SIGINT; SIGHUP re-reads the configuration with `reload`.

    Raises ConfigError when the address cannot be bound, or a secret or certificate is missing.
    """
    set_up_logs()
    secrets = load_secrets(config, os.environ)
    otlp = find_otlp(config.otlp_endpoint, config.otlp_protocol, config.tracing, os.environ)
    app = create_app(config, admin_token=os.environ.get(ADMIN_TOKEN), secrets=secrets, otlp=otlp)
    server = make_server(app, config, lambda: app.config.body_timeout_s)
    listener = bind(config.host, config.port)
    collect_rarely()
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(_serve(server, app, listener, config, reload))


def bind(host: str, port: int) -> socket.socket:
    """A listening socket. Raises ConfigError when the port is taken or the host is not ours."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise ConfigError(f"cannot listen on {host}:{port}: {error.strerror or error}") from None
    listener.listen(2048)
    listener.setblocking(False)
    return listener


async def _serve(
    server: Server, app: Gateway, listener: socket.socket, config: Config, reload: Callable[[], Config]
) -> None:
    loop = asyncio.get_running_loop()
    pending: set[asyncio.Task[None]] = set()

    def hangup() -> None:
        task = loop.create_task(_reload(app, reload))
        pending.add(task)
        task.add_done_callback(pending.discard)

    def end(number: int) -> None:
        app.drain()
        server.handle_exit(number, None)

    loop.add_signal_handler(signal.SIGHUP, hangup)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end, number)
    announcing = loop.create_task(_announce(server, app, listener, config))
    try:
        await server.serve(sockets=[listener])
    finally:
        announcing.cancel()


async def _reload(app: Gateway, reload: Callable[[], Config]) -> None:
    try:
        config = reload()
        app.reconfigure(config, load_secrets(config, os.environ))
    except (ConfigError, Refusal) as error:
        logging.getLogger("prefixgate").error("reload refused, the old configuration stays: %s", error)
    else:
        logging.getLogger("prefixgate").info("configuration reloaded")


async def _announce(server: Server, app: Gateway, listener: socket.socket, config: Config) -> None:
    await server.accepting.wait()
    await announce(app, listener, config)


async def announce(app: Gateway, listener: socket.socket, config: Config) -> None:
    """Say where it listens, and what was found."""
    host, port = listener.getsockname()[:2]
    at = _in_url(host)
    scheme = "http" if config.tls_cert is None else "https"
    click.echo(f"prefixgate listens on {scheme}://{at}:{port}  (policy {config.policy}, level {config.level})")
    near = _in_url(_EVERYWHERE.get(host, host))
    asks = "  (asks for the admin token)" if os.environ.get(ADMIN_TOKEN) else ""
    click.echo(f"dashboard {scheme}://{near}:{port}/dashboard{asks}")
    if not config.engines and not config.discovery:
        click.echo('no engines yet: add one with  POST /workers {"url": "http://host:port"}')
    await app.health.first_look(timeout_s=_FIRST_LOOK_S)
    for worker in app.workers:
        click.echo(f"  {_line(worker)}")


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _line(worker: Worker) -> str:
    if worker.info is None:
        return f"{worker.id}  {worker.state}" + (f": {worker.last_error}" if worker.last_error else ", still looking")
    info = worker.info
    about = [f"{info.kind} {info.version or ''}".strip(), ", ".join(worker.models)]
    if info.kv_capacity_tokens:
        about.append(f"KV {info.kv_capacity_tokens:,} tokens")
    if info.page_size:
        about.append(f"page {info.page_size}")
    return f"{worker.id}  {worker.state}  " + "  ".join(about)
