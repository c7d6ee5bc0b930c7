"""A gateway under a real uvicorn server in the test's own loop, and what tests ask of it."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol
from unittest import mock

import aiohttp
import msgspec
import uvicorn

import gateway as package
from gateway.app import Gateway, create_app
from gateway.config import Config
from gateway.credentials import load_secrets
from gateway.http_server import bounded
from gateway.otlp_settings import find_otlp
from gateway.serve import bind
from gateway.workers import Worker
from prefix.record import RequestRecord
from telemetry.aggregate import Aggregate
from telemetry.labels import Labels

CHAT, COMPLETIONS, GENERATE = "/v1/chat/completions", "/v1/completions", "/generate"
SOON_S = 10.0
"""How long a test waits for what takes milliseconds."""
_SOURCE = Path(package.__file__).parent
_AT_REST = frozenset(("Health._watch_health", "Health._watch_load", "Upstream._tick", "Fleet._follow")) | {
    *("KvFeeds._run", "KvFeed._listen", "KvFeed._watch", "KvFeed._ask", "KvFeed._replayed"),
}
_CARRIERS = ("RedisLink.",)
"""Whose tasks carry messages between gateways, whether or not there are requests."""


class AnEngine(Protocol):
    """Anything that listens."""

    @property
    def url(self) -> str: ...


class Recording(Aggregate):
    """An aggregate that keeps the records it was given."""

    def __init__(self, labels: Labels) -> None:
        super().__init__(labels)
        self.records: list[RequestRecord] = []

    def record(self, record: RequestRecord) -> tuple[str, ...]:
        self.records.append(record)
        return super().record(record)


class Running:
    """A gateway that serves. http: a client session with its address as base. errors: what uvicorn complained of."""

    def __init__(self, app: Gateway, port: int, http: aiohttp.ClientSession) -> None:
        self.app = app
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.http = http
        self.errors: list[str] = []

    @property
    def records(self) -> list[RequestRecord]:
        """The record of every finished request."""
        assert isinstance(self.app.aggregate, Recording)
        self.app.journal.flush()
        return self.app.aggregate.records

    @property
    def workers(self) -> list[Worker]:
        """All workers, in the order they were added."""
        return list(self.app.workers)

    def post(self, path: str, body: Any, **headers: str) -> Any:
        """A POST as a context manager; body: bytes as they are, or an object to send as JSON; headers with - as _."""
        data = body if isinstance(body, bytes) else msgspec.json.encode(body)
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.http.post(path, data=data, headers={"content-type": "application/json"} | given)

    async def ask(self, path: str, body: Any, **headers: str) -> tuple[int, bytes]:
        """Status and body of a POST."""
        async with self.post(path, body, **headers) as response:
            return response.status, await response.read()

    async def last_record(self) -> RequestRecord:
        """The record of the last request: it is made just after the response's last byte."""
        await until(lambda: self.settled() and bool(self.records))
        return self.records[-1]

    def settled(self) -> bool:
        """No request is anywhere in the gateway: no slot taken, nothing in flight at a router, no task left."""
        taken = sum(worker.in_flight for worker in self.app.workers)
        in_flight = sum(len(group.router._flights) for group in self.app.models)
        return not taken and not in_flight and not serving_tasks()

    async def metrics(self) -> dict[str, float]:
        """Every sample of /metrics: name{labels} -> value."""
        async with self.http.get("/metrics") as response:
            assert response.status == 200
            page = await response.text()
        return {name: float(value) for name, value in re.findall(r"^([^#\s][^\n]*) (\S+)$", page, re.MULTILINE)}

    async def ready(self, count: int) -> None:
        """Wait until so many workers take requests."""
        await until(lambda: sum(worker.ready for worker in self.app.workers) == count)


async def until(true: Callable[[], bool]) -> None:
    """Wait until something is so; TimeoutError when it never is."""
    async with asyncio.timeout(SOON_S):
        while not true():
            await asyncio.sleep(0.002)


def serving_tasks() -> set[str]:
    """The tasks of the gateway that are there for a request: all but its watchers and clocks."""
    codes = [getattr(task.get_coro(), "cr_code", None) for task in asyncio.all_tasks()]
    ours = {code.co_qualname for code in codes if code is not None and Path(code.co_filename).is_relative_to(_SOURCE)}
    return {name for name in ours - _AT_REST if not name.startswith(_CARRIERS)}


class _Complaints(logging.Handler):
    def __init__(self, errors: list[str]) -> None:
        super().__init__(logging.ERROR)
        self._errors = errors

    def emit(self, record: logging.LogRecord) -> None:
        self._errors.append(self.format(record))


@asynccontextmanager
async def running(
    *engines: AnEngine,
    admin_token: str | None = None,
    environ: Mapping[str, str] | None = None,
    wait: bool = True,
    **settings: Any,
) -> AsyncIterator[Running]:
    """A gateway in front of these engines, which are up when it is handed out.

    Fails at its end when the application let an exception out, or a request is still somewhere in it.
    """
    urls = {"engines": tuple(engine.url for engine in engines), "poll_interval_s": 0.05}
    config = Config(**urls | settings)
    with mock.patch("gateway.app.Aggregate", Recording):
        secrets = load_secrets(config, environ or {})
        otlp = find_otlp(config.otlp_endpoint, config.otlp_protocol, config.tracing, environ or {})
        app = create_app(config, admin_token=admin_token, secrets=secrets, otlp=otlp)
    async with serving(app) as port, aiohttp.ClientSession(f"http://127.0.0.1:{port}") as http:
        gateway = Running(app, port, http)
        log, complaints = logging.getLogger("uvicorn.error"), _Complaints(gateway.errors)
        log.addHandler(complaints)
        try:
            if wait:
                await gateway.ready(len(engines))
            yield gateway
            await until(gateway.settled)
        finally:
            log.removeHandler(complaints)
        assert not [error for error in gateway.errors if "Exception in ASGI" in error]


@asynccontextmanager
async def serving(app: Gateway) -> AsyncIterator[int]:
    """The port of a uvicorn server with this application, set up as gateway.serve sets it up."""
    config = uvicorn.Config(
        app,
        http=bounded(app.config.max_header_bytes, app.config.max_headers, lambda: app.config.body_timeout_s),
        ws="none",
        lifespan="on",
        interface="asgi3",
        access_log=False,
        log_config=None,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=75,
    )
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    listener = bind("127.0.0.1", 0)
    await server.startup(sockets=[listener])
    try:
        yield listener.getsockname()[1]
    finally:
        for each in server.servers:
            each.close()
        for connection in list(server.server_state.connections):
            connection.shutdown()
        await until(lambda: not server.server_state.tasks)
        await server.lifespan.shutdown()


def sums(metrics: dict[str, float], name: str, **labels: str) -> float:
    """The sum of the samples of a metric that carry these labels."""
    wanted = [f'{label}="{value}"' for label, value in labels.items()]
    return sum(v for key, v in metrics.items() if key.partition("{")[0] == name and all(w in key for w in wanted))


def chat(text: str = "Hi", **more: Any) -> dict[str, Any]:
    """A chat request of one user message."""
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


def native(text: str = "Hi", **sampling: Any) -> dict[str, Any]:
    """A request of SGLang's own API."""
    return {"text": text, "sampling_params": sampling}


def error_of(body: bytes) -> dict[str, Any]:
    """The error object of an OpenAI-shaped error body, all four fields there."""
    error = msgspec.json.decode(body)["error"]
    assert isinstance(error, dict)
    assert set(error) == {"message", "type", "param", "code"}
    return error


def request_bytes(path: str, body: bytes, *headers: str, method: str = "POST") -> bytes:
    """A request as raw bytes."""
    lines = [f"{method} {path} HTTP/1.1", "host: localhost", f"content-length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


async def exchange(port: int, request: bytes) -> bytes:
    """Everything the gateway answers to raw bytes until it closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request)
        async with asyncio.timeout(SOON_S):
            return await reader.read()
    finally:
        writer.close()
        await writer.wait_closed()
