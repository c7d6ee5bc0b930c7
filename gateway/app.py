"""The application: FastAPI for what operators see, raw ASGI for what is proxied, on one object.

`create_app(config)` takes everything it needs as arguments; there is no global state, so several gateways can
live in one process.
"""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from secrets import token_bytes
from typing import Any

from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from gateway.access_log import AccessLog
from gateway.admin import AdminGuard, page_routes, worker_routes
from gateway.api_cache import cache_routes
from gateway.api_live import Live, live_routes
from gateway.api_prompts import prompt_routes
from gateway.api_requests import request_routes
from gateway.api_tree import tree_routes
from gateway.app_errors import answer_errors
from gateway.capture import Captures
from gateway.config import DEFAULT_ROUTE, Config
from gateway.cors import Cors, options
from gateway.credentials import NO_SECRETS, Secrets
from gateway.dashboard import dashboard_routes
from gateway.discovery.fleet import Fleet
from gateway.events import Events
from gateway.health import Health
from gateway.journal import Ended, Journal, Step
from gateway.kv_feeds import KvFeeds
from gateway.membership import Membership
from gateway.misses import Misses
from gateway.models import Models
from gateway.others import NO_OTHERS, Others, together
from gateway.otlp_settings import NOTHING_PUSHED, Otlp
from gateway.paging import Paging
from gateway.proxy import Proxy
from gateway.public import is_public, public_routes
from gateway.response_ids import ResponseIds
from gateway.scrape import worker_gauges
from gateway.shared.redis_start import redis_link
from gateway.shared.replica import Replica
from gateway.shared.status import ALONE, NOTHING_SHARED, Sharing
from gateway.shown import Shown
from gateway.tracing import Tracing
from gateway.upstream import Upstream
from gateway.version import __version__
from gateway.workers import Workers
from telemetry.aggregate import Aggregate
from telemetry.catalog import CAPTURES, HIT_RATE_CHANGE, PROCESS_RESTARTS, SPANS
from telemetry.labels import PATHS, Labels
from telemetry.points import by_label, by_labels
from telemetry.setup import Exporters, create_exporters

_READ = "GET, HEAD, OPTIONS"
FIXED = (
    *("host", "port", "processes", "policy", "redis", "otlp_endpoint", "otlp_protocol", "tracing"),
    *("connect_timeout_s", "first_byte_timeout_s", "read_timeout_s", "pool_idle_s"),
    *("tls_cert", "tls_key", "engine_ca_file", "access_log", "max_header_bytes", "max_headers"),
)
"""Settings that are read once, at start."""
_log = logging.getLogger("prefixgate")


class Gateway(FastAPI):
    """The ASGI application. workers, models, health: its live state, for tests and embedding."""

    proxy: Proxy
    kv_feeds: KvFeeds
    workers: Workers
    models: Models
    health: Health
    membership: Membership
    shared: Callable[[], dict[str, Any]]
    upstream: Upstream
    fleet: Fleet
    aggregate: Aggregate
    tracing: Tracing
    config: Config
    cors: Cors
    captures: Captures
    access_log: AccessLog
    events: Events
    shown: Shown
    journal: Journal
    misses: Misses
    unmounted: Callable[[], None] | None
    """Adds what is not proxied: 30 ms of schemas, paid when somebody asks first, not at every start."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Proxied paths go straight to the proxy; everything else is FastAPI's."""
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        path, method = scope["path"], scope["method"]
        api = self.proxy.apis.find(path)
        public = api is not None or is_public(path)
        if public and self.cors:
            send = self.cors.saying(scope, send)
        if public and method == "OPTIONS":
            await options(_READ if api is None else api.allow, send)
        elif api is not None:
            await self.proxy(api, scope, receive, send)
        else:
            self.journal.flush()  # what is read there has all requests in it
            self._mounted()
            asked = {**scope, "method": "GET"} if method == "HEAD" else scope  # the server leaves the body out
            await super().__call__(asked, receive, send)

    def openapi(self) -> dict[str, Any]:
        """The description of what operators may ask."""
        self._mounted()
        return super().openapi()

    def _mounted(self) -> None:
        if self.unmounted is not None:
            mount, self.unmounted = self.unmounted, None
            mount()

    def drain(self) -> None:
        """Shutting down: no new requests, no more ticks for dashboards; what runs finishes."""
        self.proxy.drain()
        self.events.close()

    def reconfigure(self, config: Config, secrets: Secrets = NO_SECRETS) -> None:
        """Take over a new configuration: engines come and go, routes, customers, limits and levels change."""
        fixed = [name for name in FIXED if getattr(config, name) != getattr(self.config, name)]
        if fixed:
            _log.warning("restart to change %s: the running values stay", ", ".join(fixed))
        self.journal.flush()  # what has ended is counted and captured as was said then
        self.kv_feeds.configure(config)
        self.captures.configure(config.capture, secrets.capture)
        self.proxy.configure(config, secrets)
        self.config = config
        self.cors = Cors(config.cors_origins)
        self.upstream.secrets = secrets
        self.aggregate.labels = _labels(config)
        self.aggregate.labels.learn_models(self.models.ids())
        self.health.configure(config)
        self.fleet.configure(config)


def create_app(
    config: Config,
    *,
    admin_token: str | None = None,
    secrets: Secrets = NO_SECRETS,
    otlp: Otlp = NOTHING_PUSHED,
    others: Others = NO_OTHERS,
) -> Gateway:
    """A gateway for this configuration; it starts watching its engines with the application's lifespan.

    secrets: what `gateway.credentials.load_secrets` found. otlp: where telemetry is pushed
    (`gateway.otlp_settings.find_otlp`). others: the processes that serve for this one. Raises ConfigError.
    """
    own = token_bytes(8).hex()
    models = Models(config.policy, seed=0 if config.redis.url is None else int(own[:8], 16))
    workers = others.workers(models)
    upstream = Upstream(config, secrets)
    aggregate = Aggregate(_labels(config))
    health = Health(config, workers, upstream, lambda names: aggregate.labels.learn_models(names))
    fleet = Fleet(config, workers, health)
    membership = Membership(own, workers, health)
    shown = Shown()
    access_log = AccessLog(config.access_log)
    captures = Captures(config.capture, secrets.capture, token_bytes(32))

    misses = Misses()
    tracing = Tracing(otlp, misses, __version__)
    journal = Journal(misses, *_steps(aggregate, shown, access_log, captures, tracing))
    paging = Paging(config.kv_events)
    kv_feeds = KvFeeds(config, workers, paging)
    proxy = Proxy(config, workers, upstream, health.suspect, secrets, journal, tracing, ResponseIds(), paging)
    link, sharing = _sharing(config, secrets, own, proxy, membership, models, health)
    exporters = create_exporters(
        aggregate,
        lambda: worker_gauges(workers, models),
        queued=lambda: together(proxy.dispatch.queued, others.queued()),
        further=lambda: (
            by_label(CAPTURES, together(captures.counts, others.captures())),
            by_label(PROCESS_RESTARTS, others.restarts()),
            by_label(SPANS, together(tracing.counts(), others.spans())),
            *kv_feeds.families(),
            by_labels(HIT_RATE_CHANGE, shown.board.hit_rate_changes()),
            *(sharing.families() if sharing is not None else NOTHING_SHARED),
        ),
        otlp=otlp.metrics,
        version=__version__,
    )

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        tracing.start()
        with access_log, captures:
            async with upstream, health, fleet, kv_feeds, link:
                yield
            journal.flush()
        await asyncio.to_thread(tracing.close)
        await asyncio.to_thread(exporters.shutdown)

    app = Gateway(
        title="prefixgate",
        version=__version__,
        lifespan=lifespan,
        openapi_url=None,  # these three are operators' pages: see gateway.admin.page_routes
        docs_url=None,
        redoc_url=None,
    )
    app.config = config
    app.shown, app.journal, app.misses = shown, journal, misses
    app.cors = Cors(config.cors_origins)
    app.captures, app.access_log = captures, access_log
    app.kv_feeds = kv_feeds
    app.workers, app.models, app.health, app.aggregate = workers, models, health, aggregate
    app.membership = membership
    app.shared = sharing.described if sharing is not None else ALONE.copy
    app.upstream, app.fleet, app.proxy, app.tracing = upstream, fleet, proxy, tracing
    live = Live(shown.board, lambda: app.config, shown.now)

    def tick() -> bytes:
        journal.flush()
        return live.tick()

    app.events = Events(tick, shown.now)
    app.unmounted = lambda: _mount(app, AdminGuard(admin_token, config.host), exporters, live)
    answer_errors(app)
    return app


def _steps(
    aggregate: Aggregate, shown: Shown, access_log: AccessLog, captures: Captures, tracing: Tracing
) -> tuple[Step, Step, Step]:
    """What becomes of a finished request, in this order: metrics, dashboard, and what is written or sent."""

    def count(ended: Ended) -> None:
        ended.key = aggregate.record(ended.record)

    def show(ended: Ended) -> None:
        shown.finished(ended.key, ended.record, ended.exchange.prepared, ended.miss)

    def write(ended: Ended) -> None:
        record, exchange = ended.record, ended.exchange
        access_log.write(record)
        captures.offer(record, exchange.prepared, exchange.raw)
        tracing.finished(exchange, record, ended.scope, ended.now)

    return count, show, write


def _sharing(
    config: Config, secrets: Secrets, own: str, proxy: Proxy, membership: Membership, models: Models, health: Health
) -> tuple[AbstractAsyncContextManager[object], Sharing | None]:
    """The link to other gateways, to be entered, and how it stands; nothing where this one is alone."""
    if config.redis.url is None:
        return nullcontext(), None
    name = f"{socket.gethostname()}:{config.port}"
    replica = Replica(own, name, __version__, models, membership, proxy.admission.limiter)
    link = redis_link().RedisLink(config.redis, secrets.redis, replica, health.first_look)
    return link, Sharing(config.redis, replica, link)


def _mount(app: Gateway, guard: AdminGuard, exporters: Exporters, live: Live) -> None:
    """Everything that is not proxied."""
    shown, misses = app.shown, app.misses
    for routes in (
        worker_routes(guard, app.workers, app.membership, app.aggregate, app.kv_feeds, app.shared),
        page_routes(guard, exporters),
        dashboard_routes(guard),
        cache_routes(guard, app.aggregate),
        live_routes(guard, live, app.events),
        prompt_routes(guard, live, shown.causes.partings),
        tree_routes(guard, shown.recent, app.models),
        request_routes(guard, misses),
        public_routes(app.proxy, app.workers),
    ):
        app.include_router(routes)


def _labels(config: Config) -> Labels:
    paths = (*PATHS, *config.allow_paths)
    return Labels(config.route_labels, tuple(config.customers), default_route=DEFAULT_ROUTE, paths=paths)
