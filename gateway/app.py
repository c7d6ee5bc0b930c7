"""The application: FastAPI for what operators see, raw ASGI for what is proxied, on one object.

`create_app(config)` takes everything it needs as arguments; there is no global state, so several gateways can
live in one process.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from gateway.access_log import AccessLog
from gateway.admin import AdminGuard, admin_routes
from gateway.api_cache import cache_routes
from gateway.api_live import Live, live_routes
from gateway.api_prompts import prompt_routes
from gateway.api_requests import request_routes
from gateway.api_tree import tree_routes
from gateway.apis import MESSAGES
from gateway.config import DEFAULT_ROUTE, Config
from gateway.cors import Cors, options
from gateway.credentials import NO_SECRETS, Secrets
from gateway.dashboard import dashboard_routes
from gateway.discovery.fleet import Fleet
from gateway.errors import Refusal
from gateway.events import Events
from gateway.health import Health
from gateway.models import Models
from gateway.prepare import Prepared
from gateway.proxy import Proxy
from gateway.shown import Shown
from gateway.upstream import Upstream
from gateway.version import __version__
from gateway.workers import Workers
from prefix.record import RequestRecord
from telemetry.aggregate import Aggregate
from telemetry.gauges import WorkerGauges
from telemetry.labels import PATHS, Labels
from telemetry.setup import create_exporters

_MODELS = "/v1/models"
_PUBLIC = frozenset(("/health", "/ready", _MODELS))
_READ = "GET, HEAD, OPTIONS"
_FIXED = (
    *("host", "port", "policy", "otlp_endpoint"),
    *("connect_timeout_s", "first_byte_timeout_s", "read_timeout_s", "pool_idle_s"),
    *("tls_cert", "tls_key", "engine_ca_file", "access_log", "max_header_bytes", "max_headers"),
)
"""Settings that are read once, at start."""
_log = logging.getLogger("prefixgate")
_BREAKER = {"closed": 0.0, "half_open": 0.5, "open": 1.0}
_RETRY = {"retry-after": "5"}


class Gateway(FastAPI):
    """The ASGI application. workers, models, health: its live state, for tests and embedding."""

    proxy: Proxy
    workers: Workers
    models: Models
    health: Health
    upstream: Upstream
    fleet: Fleet
    aggregate: Aggregate
    config: Config
    cors: Cors
    events: Events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Proxied paths go straight to the proxy; everything else is FastAPI's."""
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        path, method = scope["path"], scope["method"]
        api = self.proxy.apis.find(path)
        public = api is not None or path in _PUBLIC or path.startswith(_MODELS + "/")
        if public and self.cors:
            send = self.cors.saying(scope, send)
        if public and method == "OPTIONS":
            await options(_READ if api is None else api.allow, send)
        elif api is not None:
            await self.proxy(api, scope, receive, send)
        else:
            asked = {**scope, "method": "GET"} if method == "HEAD" else scope  # the server leaves the body out
            await super().__call__(asked, receive, send)

    def drain(self) -> None:
        """Shutting down: no new requests, no more ticks for dashboards; what runs finishes."""
        self.proxy.drain()
        self.events.close()

    def reconfigure(self, config: Config, secrets: Secrets = NO_SECRETS) -> None:
        """Take over a new configuration: engines come and go, routes, customers, limits and levels change."""
        fixed = [name for name in _FIXED if getattr(config, name) != getattr(self.config, name)]
        if fixed:
            _log.warning("restart to change %s: the running values stay", ", ".join(fixed))
        self.proxy.configure(config, secrets)
        self.config = config
        self.cors = Cors(config.cors_origins)
        self.upstream.secrets = secrets
        self.aggregate.labels = _labels(config)
        self.aggregate.labels.learn_models(self.models.ids())
        self.health.configure(config)
        self.fleet.configure(config)


def create_app(config: Config, *, admin_token: str | None = None, secrets: Secrets = NO_SECRETS) -> Gateway:
    """A gateway for this configuration; it starts watching its engines with the application's lifespan.

    secrets: what `gateway.credentials.load_secrets` found. Raises ConfigError.
    """
    models = Models(config.policy)
    workers = Workers(models)
    upstream = Upstream(config, secrets)
    aggregate = Aggregate(_labels(config))
    health = Health(config, workers, upstream, lambda names: aggregate.labels.learn_models(names))
    fleet = Fleet(config, workers, health)
    shown = Shown()
    access_log = AccessLog(config.access_log)

    def finished(record: RequestRecord, prepared: Prepared | None) -> None:
        key, miss = aggregate.record(record), proxy.misses.find(record.request_id)
        shown.finished(key, record, prepared, miss)
        access_log.write(record)

    proxy = Proxy(config, workers, upstream, health.suspect, finished, secrets)
    exporters = create_exporters(
        aggregate,
        lambda: _gauges(workers, models),
        queued=lambda: proxy.dispatch.queued,
        changes=shown.board.hit_rate_changes,
        otlp_endpoint=config.otlp_endpoint,
        version=__version__,
    )

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        with access_log:
            async with upstream, health, fleet:
                yield
        await asyncio.to_thread(exporters.shutdown)

    app = Gateway(
        title="prefixgate",
        version=__version__,
        lifespan=lifespan,
        openapi_url=None,  # these three are operators' pages: see admin_routes
        docs_url=None,
        redoc_url=None,
    )
    app.config = config
    app.cors = Cors(config.cors_origins)
    app.workers, app.models, app.health, app.aggregate = workers, models, health, aggregate
    app.upstream, app.fleet, app.proxy = upstream, fleet, proxy
    guard = AdminGuard(admin_token, config.host)
    live = Live(shown.board, lambda: app.config, shown.now)
    app.include_router(admin_routes(guard, workers, health, exporters))
    app.include_router(dashboard_routes(guard))
    app.include_router(cache_routes(guard, aggregate))
    app.events = Events(live.tick, shown.now)
    app.include_router(live_routes(guard, live, app.events))
    app.include_router(prompt_routes(guard, live, shown.causes.partings))
    app.include_router(tree_routes(guard, shown.recent, models))
    app.include_router(request_routes(guard, proxy.misses))
    _public_routes(app)
    _error_handlers(app)
    return app


def _public_routes(app: Gateway) -> None:
    @app.get("/health")
    async def health() -> dict[str, str]:
        """The gateway is alive."""
        return {"status": "ok"}

    @app.get("/ready")
    async def ready() -> Response:
        """200 when at least one engine takes requests and the gateway is not shutting down, else 503."""
        up = 0 if app.proxy.draining else sum(worker.ready for worker in app.workers)
        why = "shutting down" if app.proxy.draining else "no engine is up"
        body = {"status": "ready" if up else why, "engines_up": up, "engines": len(app.workers)}
        return _json(body, 200 if up else 503, {} if up else _RETRY)

    @app.get("/v1/models")
    async def list_models(request: Request) -> Response:
        """Every model the engines serve, adapters included, as the first engine that serves it describes it."""
        return _json({"object": "list", "data": list(_cards(app, request).values())}, 200, {})

    @app.get("/v1/models/{name:path}")
    async def retrieve_model(request: Request, name: str) -> Response:
        """One model."""
        cards = _cards(app, request)
        if name not in cards:
            raise Refusal("model_not_found", f"The model '{name}' does not exist", param="model")  # as engines say it
        return _json(cards[name], 200, {})


def _cards(app: Gateway, request: Request) -> dict[str, Any]:
    authorization = request.headers.get("authorization") or request.headers.get("x-api-key")
    app.proxy.caller(authorization.encode("latin-1") if authorization else None)
    cards: dict[str, Any] = {}
    for worker in app.workers:
        for name in worker.models:
            cards.setdefault(name, worker.cards.get(name) or {"id": name, "object": "model"})
    if not cards:
        raise Refusal("no_engine")
    return cards


def _error_handlers(app: Gateway) -> None:
    @app.exception_handler(Refusal)
    async def refused(request: Request, error: Refusal) -> Response:
        dialect = "anthropic" if request.url.path.startswith(MESSAGES) else "openai"
        headers = {name.decode(): value.decode() for name, value in error.headers(dialect)}
        return Response(error.body(dialect), error.kind.status, headers)

    @app.exception_handler(RequestValidationError)
    async def unusable(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        name = str(first["loc"][-1])
        return await refused(request, Refusal("invalid_query", f"{name}: {first['msg']}", param=name))

    @app.exception_handler(500)
    async def failed(request: Request, _: Exception) -> Response:
        return await refused(request, Refusal("internal_error"))

    @app.exception_handler(HTTPException)
    async def http_error(request: Request, error: HTTPException) -> Response:
        code = "method_not_allowed" if error.status_code == 405 else "not_found"
        allow = (error.headers or {}).get("Allow")
        return await refused(
            request, Refusal(code, f"{request.method} {request.url.path}: {error.detail}", allow=allow)
        )


def _labels(config: Config) -> Labels:
    paths = (*PATHS, *config.allow_paths)
    return Labels((DEFAULT_ROUTE, *config.routes), tuple(config.customers), default_route=DEFAULT_ROUTE, paths=paths)


def _gauges(workers: Workers, models: Models) -> list[WorkerGauges]:
    blocks = {name: held for group in models for name, held in group.router.holdings().items()}
    return [
        WorkerGauges(
            worker=worker.id,
            up=worker.ready,
            active_requests=worker.in_flight,
            running=worker.load.running if worker.load else None,
            waiting=worker.load.waiting if worker.load else None,
            kv_usage=worker.kv_usage,
            index_blocks=blocks.get(worker.id),
            breaker=_BREAKER[workers.breakers.state(worker.id)],
        )
        for worker in workers
    ]


def _json(body: Any, status: int, headers: dict[str, str]) -> Response:
    return Response(msgspec.json.encode(body), status, headers, "application/json")
