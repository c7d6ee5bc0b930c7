"""Everything the gateway can be told, as one dataclass, and what its values must be.

Secrets never stand in it: customers' keys are stored hashed, the admin token comes from the environment.
"""

import difflib
import re
from collections.abc import Collection, Iterable
from typing import Annotated
from urllib.parse import urlsplit

import msgspec

from engine_adapter.kinds import KINDS
from gateway.apis import is_plain
from gateway.capture_settings import CaptureConfig
from gateway.discovery.settings import DiscoveryConfig
from gateway.guard import FIELDS
from gateway.limits import NO_LIMITS, Limits
from gateway.management import may_be_proxied
from gateway.otlp_settings import TracingConfig
from gateway.policies import POLICIES
from gateway.shared.settings import RedisConfig
from prefix.canonical import Level, Rules
from prefix.errors import ConfigError
from prefix.hoist import Hoist
from prefix.normalize import NONCES
from telemetry.otlp import Protocol

DEFAULT_ROUTE = "default"

Positive = Annotated[float, msgspec.Meta(gt=0)]


class RouteConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One route, a product surface that shares a prompt. level: what may be rewritten on it, None: the global one.

    strip: the nonces that level `normalize` removes. hoist: which volatile spans level `hoist` reports or moves.
    """

    level: Level | None = None
    strip: tuple[str, ...] = NONCES
    hoist: Hoist = Hoist()

    @property
    def rules(self) -> Rules:
        """What the lossy levels may do on this route."""
        return Rules(self.strip, self.hoist)


class CustomerConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One customer. keys: hashes as printed by `prefixgate key new`. route: its requests' route unless it names one.

    trusted: may set x-prefixgate-* headers and sees worker and expected cached tokens in responses. allow_fields:
    engine control fields its requests may carry. limits: in place of the default ones, None: those. isolate_cache:
    whether its prompts are cached apart from everybody's, None: as all customers.
    """

    keys: tuple[str, ...] = ()
    route: str | None = None
    trusted: bool = False
    allow_fields: tuple[str, ...] = ()
    limits: Limits | None = None
    isolate_cache: bool | None = None


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything `prefixgate serve` can be told. Times are seconds, sizes bytes."""

    host: str = "127.0.0.1"
    port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 8080
    processes: Annotated[int, msgspec.Meta(ge=1, le=256)] = 1
    """Processes that serve requests; more than one have a parent that owns the operators' pages."""
    engines: tuple[str, ...] = ()
    policy: str = "expected-ttft"
    level: Level = "safe"
    routes: dict[str, RouteConfig] = {}
    customers: dict[str, CustomerConfig] = {}
    limits: Limits = NO_LIMITS
    isolate_cache: bool = False
    isolation_secret_file: str | None = None
    engine_credentials: dict[str, str] = {}
    """Engine URL, or "*" -> env:NAME or file:PATH of the key to send there."""
    engine_kinds: dict[str, str] = {}
    """Engine URL, or "*" -> its kind, where it is not to be found out: `openai` never is."""
    prompt_cache_key: bool = False
    """Whether hosted endpoints are told which requests share a prefix (docs/rewriting.md)."""
    engine_ca_file: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    discovery: DiscoveryConfig = DiscoveryConfig()
    access_log: str | None = None
    """`stdout` or a file; one JSON object a request."""
    capture: CaptureConfig = CaptureConfig()
    max_header_bytes: Annotated[int, msgspec.Meta(ge=1024)] = 64 << 10
    max_headers: Annotated[int, msgspec.Meta(ge=10)] = 128
    max_body_bytes: Annotated[int, msgspec.Meta(ge=1024)] = 64 << 20
    stream_body_over_bytes: Annotated[int, msgspec.Meta(ge=0)] = 1 << 20
    """Bodies above this are sent on as they come, on paths of the allow-list; all others are held."""
    max_held_bytes: Annotated[int, msgspec.Meta(ge=1024)] = 1 << 30
    """Bytes of the bodies of all requests that are being served; beyond it they are refused."""
    max_attempts: Annotated[int, msgspec.Meta(ge=1, le=10)] = 3
    connect_timeout_s: Positive = 5.0
    first_byte_timeout_s: Positive = 900.0
    """From the request's dispatch to the first byte of the answer's body: queueing and prefill in the engine."""
    read_timeout_s: Positive = 300.0
    """Between two bytes of an answer."""
    total_timeout_s: Positive | None = 3600.0
    """From a request's arrival to the end of its answer; null: no limit."""
    body_timeout_s: Positive = 120.0
    """For a request's body to arrive, on every path."""
    sse_keepalive_s: Positive | None = None
    """Comments in streams that wait this long for their first byte; null: none."""
    breaker_failures: Annotated[int, msgspec.Meta(ge=1)] = 5
    """Faults in a row after which a worker gets no requests."""
    breaker_open_s: Positive = 5.0
    """For how long the first time; each further time twice as long, a minute at most."""
    max_in_flight: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Requests open at one worker; null: as many as come."""
    queue_size: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Requests of one model that may wait while no worker can take them; 0: they are refused at once."""
    queue_timeout_s: Positive = 30.0
    poll_interval_s: Positive = 0.5
    pool_idle_s: Positive = 4.0
    """At most; never longer than 0.8 of what the engine keeps them (5 s on uvicorn)."""
    drain_timeout_s: Annotated[float, msgspec.Meta(ge=0)] = 30.0
    redis: RedisConfig = RedisConfig()
    """Where several gateways share what they know (docs/many_gateways.md)."""
    otlp_endpoint: str | None = None
    """Base URL of an OpenTelemetry collector: metrics are pushed there."""
    otlp_protocol: Protocol | None = None
    """http or grpc; null: as OTEL_EXPORTER_OTLP_PROTOCOL says, else http."""
    tracing: TracingConfig = TracingConfig()
    allow_paths: tuple[str, ...] = ()
    """Further paths to proxy, by load: `/v1/rerank`, or `/v1/audio/*` for all below. Never an engine's management."""
    cors_origins: tuple[str, ...] = ()
    """Origins whose web pages may use the proxied paths: `https://app.example`, or `*` for all."""

    @property
    def isolates(self) -> bool:
        """Whether the cache of any customer is kept apart."""
        return self.isolate_cache or any(customer.isolate_cache for customer in self.customers.values())


def check(config: Config, where: str) -> None:
    """Raise ConfigError for values that do not go together. where: what to name as their place."""
    nearest(config.policy, POLICIES, f"{where}: unknown policy")
    if len({url.partition("://")[2] for url in config.engines}) != len(config.engines):
        raise ConfigError(f"{where}: an engine is listed twice")
    for url, kind in config.engine_kinds.items():
        nearest(kind, KINDS, f"{where}: engine_kinds: {url}: unknown kind")
    _check_paths(config.allow_paths, where)
    _check_origins(config.cors_origins, where)
    for name, route in config.routes.items():
        try:
            route.rules.check()
        except ConfigError as error:
            raise ConfigError(f"{where}: route {name!r}: {error}") from None
    _check_capture(config, where)
    try:
        config.redis.check()
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
    try:
        config.discovery.check()
    except ConfigError as error:
        raise ConfigError(f"{where}: discovery: {error}") from None
    _check_customers(config, where)


def _check_customers(config: Config, where: str) -> None:
    for name, customer in config.customers.items():
        for field in customer.allow_fields:
            nearest(field, FIELDS, f"{where}: customer {name!r}: allow_fields: unknown field")
        if not customer.keys:
            raise ConfigError(f"{where}: customer {name!r} has no keys: make one with `prefixgate key new`")
        if customer.route is not None and customer.route not in config.routes:
            nearest(customer.route, config.routes, f"{where}: customer {name!r}: unknown route")
        for key in customer.keys:
            if re.fullmatch(r"sha256:[0-9a-f]{64}", key) is None:
                raise ConfigError(f"{where}: customer {name!r}: a key must look like sha256:<64 hex digits>")


def _check_capture(config: Config, where: str) -> None:
    try:
        config.capture.check()
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
    for route in config.capture.routes:
        nearest(route, (*config.routes, DEFAULT_ROUTE), f"{where}: capture: unknown route")
    for customer in config.capture.skip_customers if config.customers else ():
        nearest(customer, config.customers, f"{where}: capture: skip_customers: unknown customer")


def _check_paths(paths: Iterable[str], where: str) -> None:
    for path in paths:
        plain = path.removesuffix("/*")
        if path != "/*" and not is_plain(plain):
            raise ConfigError(f"{where}: allow_paths: {path!r} must look like /v1/rerank or /v1/audio/*")
        if plain and not may_be_proxied(plain):
            raise ConfigError(
                f"{where}: allow_paths: {path!r} manages an engine or is the gateway's own; it never passes"
            )


def _check_origins(origins: Iterable[str], where: str) -> None:
    for origin in origins:
        if origin != "*" and re.fullmatch(r"https?://[a-z0-9.\[\]:-]+", origin) is None:
            raise ConfigError(
                f"{where}: cors_origins: {origin!r} must look like https://app.example (lower case), or be *"
            )


def nearest(name: str, valid: Collection[str], what: str) -> None:
    """Raise ConfigError unless `name` is one of `valid`, naming the nearest."""
    if name in valid:
        return
    near = difflib.get_close_matches(name, valid, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(sorted(valid))}"
    raise ConfigError(f"{what} {name!r}: {hint}")


def check_engine_url(url: str) -> str:
    """The URL without a trailing slash. Raises ConfigError unless it is plain http(s)://host[:port][/path]."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna")  # as it will be looked up
        valid = parts.scheme in ("http", "https") and bool(host) and (parts.port or 1) > 0
    except ValueError:
        valid = False
    if not valid or parts.query or parts.fragment:
        raise ConfigError("an engine URL must look like http://host:port")
    if parts.username or parts.password:
        raise ConfigError("an engine URL must not carry credentials")
    return url.rstrip("/")
