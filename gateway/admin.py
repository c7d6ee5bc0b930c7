"""The admin surface: workers and metrics, for operators only.

With an admin token (environment PREFIXGATE_ADMIN_TOKEN) only with it. Without one only from this very machine:
refused when the peer is not loopback, when a proxy's Forwarded, X-Forwarded-* or Via header is there, or when
Host or Origin is not ours (which keeps web pages of a browser on this machine out). Mutations take JSON only.
"""

import asyncio
import hmac
import ipaddress
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import msgspec
from fastapi import APIRouter, Request, Response
from fastapi.openapi.docs import get_swagger_ui_html
from starlette.requests import ClientDisconnect

from engine_adapter.engine import State
from gateway.config import check_engine_url
from gateway.errors import Refusal
from gateway.membership import Membership
from gateway.ranks import rank_names
from gateway.workers import Worker, Workers
from prefix.errors import ConfigError
from telemetry.aggregate import Aggregate
from telemetry.cells import TokenSums
from telemetry.setup import Exporters

_LONGEST_BODY = 64 << 10
_OURS = frozenset(("localhost", "127.0.0.1", "::1"))


class AdminGuard:
    """Decides whether a request may use the admin surface."""

    def __init__(self, token: str | None, host: str) -> None:
        self._token = token.encode() if token else None
        self._hosts = _OURS | {host}

    @property
    def wants_token(self) -> bool:
        """Whether a token is what opens the admin surface; else only this very machine may use it."""
        return self._token is not None

    def __call__(self, request: Request) -> None:
        """Raises Refusal `admin_refused` with the reason."""
        if self._token is not None:
            given = request.headers.get("authorization", "").removeprefix("Bearer ").encode()
            if not hmac.compare_digest(given, self._token):
                raise Refusal("admin_refused", "send the admin token: Authorization: Bearer <PREFIXGATE_ADMIN_TOKEN>")
        else:
            self._only_local(request)
        if request.method in ("POST", "PUT", "PATCH") and not _is_json(request):
            raise Refusal(
                "admin_refused", "send Content-Type: application/json"
            )  # a DELETE has no body to be of a type

    def _only_local(self, request: Request) -> None:
        ask = "; to open it to others set PREFIXGATE_ADMIN_TOKEN"
        peer = request.client.host if request.client else ""
        if not _is_loopback(peer):
            raise Refusal("admin_refused", f"the admin surface is open to this machine only, not to {peer}{ask}")
        for name in request.headers:
            if name in ("forwarded", "via") or name.startswith("x-forwarded-"):
                raise Refusal("admin_refused", f"the request came through a proxy ({name}){ask}")
        if _hostname("//" + request.headers.get("host", "")) not in self._hosts:
            raise Refusal("admin_refused", f"the Host header is not this gateway's{ask}")
        origin = request.headers.get("origin")
        if origin is not None and origin.partition("://")[2] != request.headers["host"]:  # host and port: same origin
            raise Refusal("admin_refused", f"the Origin header is not this gateway's{ask}")


def worker_routes(
    guard: AdminGuard,
    workers: Workers,
    membership: Membership,
    aggregate: Aggregate,
    shared: Callable[[], dict[str, Any]],
) -> APIRouter:
    """`/workers`, `/workers/{id}`, `/workers/{id}/drain`."""
    routes = APIRouter()

    def described(worker: Worker) -> dict[str, Any]:
        return describe(worker, workers) | delivered(aggregate.worker(worker.id))

    @routes.get("/workers")
    async def list_workers(request: Request) -> dict[str, Any]:
        """Every worker: what it is, whether it may get requests, what its cache delivered, what should be changed.
        `redis`: how sharing with other gateways goes."""
        guard(request)
        return {"workers": [described(worker) for worker in workers], "redis": shared()}

    @routes.post("/workers", status_code=202)
    async def add_worker(request: Request) -> dict[str, Any]:
        """Add an engine: {"url": "http://host:port"}. It gets requests as soon as it answers its health check."""
        guard(request)
        try:
            new = msgspec.json.decode(await _small_body(request), type=dict[str, str])
            url = check_engine_url(new["url"])
        except (msgspec.DecodeError, KeyError):
            raise Refusal("invalid_worker", 'the body must be {"url": "http://host:port"}', param="/url") from None
        except ConfigError as error:
            raise Refusal("invalid_worker", str(error), param="/url") from None
        return described(membership.add(url))

    @routes.delete("/workers/{name}")
    async def remove_worker(request: Request, name: str) -> dict[str, Any]:
        """Take a worker out. What it is serving finishes."""
        guard(request)
        return described(membership.remove(name))

    @routes.post("/workers/{name}/drain")
    async def drain_worker(request: Request, name: str) -> dict[str, Any]:
        """Send a worker no new requests; it stays listed until it is removed."""
        guard(request)
        return described(membership.drain(name))

    return routes


def page_routes(guard: AdminGuard, exporters: Exporters) -> APIRouter:
    """`/metrics`, `/docs`, `/openapi.json`."""
    routes = APIRouter()

    @routes.get("/metrics")
    async def metrics(request: Request) -> Response:
        """Prometheus text, or OpenMetrics when the Accept header asks for it."""
        guard(request)
        body, content_type = await asyncio.to_thread(exporters.prometheus, request.headers.get("accept"))
        return Response(body, headers={"content-type": content_type})

    @routes.get("/openapi.json", include_in_schema=False)
    async def openapi(request: Request) -> dict[str, Any]:
        guard(request)
        schema: dict[str, Any] = request.app.openapi()
        return schema

    @routes.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        guard(request)
        return get_swagger_ui_html(openapi_url="/openapi.json", title="prefixgate")

    return routes


def describe(worker: Worker, workers: Workers) -> dict[str, Any]:
    """One row of `GET /workers`. Unknown values are null."""
    info, load = worker.info, worker.load
    return {
        "id": worker.id,
        "url": worker.url,
        "kind": worker.engine.kind,
        "state": str(State.DRAINING if worker.drained and worker.state is State.UP else worker.state),
        "breaker": workers.breakers.state(worker.id),
        "models": list(worker.models),
        "version": info.version if info else None,
        "page_size": info.page_size if info else None,
        "kv_capacity_tokens": info.kv_capacity_tokens if info else None,
        "ranks": [_describe_rank(name, worker, nth) for nth, name in enumerate(rank_names(worker.id, worker.ranks))],
        "cache_report": worker.cache_report,
        "in_flight": worker.in_flight,
        "running": load.running if load else None,
        "waiting": load.waiting if load else None,
        "kv_used_tokens": load.kv_used_tokens if load else None,
        "warning": worker.warning,
        "last_error": None if worker.state is State.UP else worker.last_error,
    }


def delivered(sums: TokenSums | None) -> dict[str, Any]:
    """What a worker's cache delivered of what was predicted, in tokens of the requests whose cached count it reported
    since the gateway began, and why it had to compute the others; null when there is no such request."""
    known = sums if sums is not None and sums.requests > sums.unknown_requests else None
    return {
        "input_tokens": known and known.input_tokens,
        "expected_cached_tokens": known and known.expected_cached_tokens,
        "cached_tokens": known and known.cached_tokens,
        "uncached_by_reason": known and dict(known.uncached),
    }


def _describe_rank(name: str, worker: Worker, rank: int) -> dict[str, Any]:
    """One DP rank, a worker of its own to the router."""
    ranks = (worker.load.ranks or (worker.load,)) if worker.load is not None else ()
    load = ranks[rank] if rank < len(ranks) else None
    return {
        "id": name,
        "running": load.running if load else None,
        "waiting": load.waiting if load else None,
        "kv_used_tokens": load.kv_used_tokens if load else None,
    }


async def _small_body(request: Request) -> bytes:
    """Raises Refusal `body_too_large` (nothing an operator says is long), and one for nobody when it breaks off."""
    body = b""
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > _LONGEST_BODY:
                raise Refusal("body_too_large", f"the body is over the limit of {_LONGEST_BODY} bytes")
    except ClientDisconnect:
        raise Refusal("request_timeout", "the connection ended before the body did") from None
    return body


def _is_json(request: Request) -> bool:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _hostname(origin: str) -> str | None:
    try:
        return urlsplit(origin).hostname
    except ValueError:
        return None
