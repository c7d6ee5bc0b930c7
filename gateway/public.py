"""What anybody may read without being proxied: whether the gateway lives, whether it can serve, which models."""

from typing import Any

import msgspec
from fastapi import APIRouter, Request, Response

from gateway.errors import Refusal
from gateway.proxy import Proxy
from gateway.workers import Workers

MODELS = "/v1/models"
PUBLIC = frozenset(("/health", "/ready", MODELS))
_RETRY = {"retry-after": "5"}


def is_public(path: str) -> bool:
    """Whether the path is one of these."""
    return path in PUBLIC or path.startswith(MODELS + "/")


def public_routes(proxy: Proxy, workers: Workers) -> APIRouter:
    """`/health`, `/ready` and `/v1/models`."""
    routes = APIRouter()

    @routes.get("/health")
    async def health() -> dict[str, str]:
        """The gateway is alive."""
        return {"status": "ok"}

    @routes.get("/ready")
    async def ready() -> Response:
        """200 when at least one engine takes requests and the gateway is not shutting down, else 503."""
        up = 0 if proxy.draining else sum(worker.ready for worker in workers)
        why = "shutting down" if proxy.draining else "no engine is up"
        body = {"status": "ready" if up else why, "engines_up": up, "engines": len(workers)}
        return _json(body, 200 if up else 503, {} if up else _RETRY)

    @routes.get(MODELS)
    async def list_models(request: Request) -> Response:
        """Every model the engines serve, adapters included, as the first engine that serves it describes it."""
        return _json({"object": "list", "data": list(_cards(proxy, workers, request).values())}, 200, {})

    @routes.get(MODELS + "/{name:path}")
    async def retrieve_model(request: Request, name: str) -> Response:
        """One model."""
        cards = _cards(proxy, workers, request)
        if name not in cards:
            raise Refusal("model_not_found", f"The model '{name}' does not exist", param="model")  # as engines say it
        return _json(cards[name], 200, {})

    return routes


def _cards(proxy: Proxy, workers: Workers, request: Request) -> dict[str, Any]:
    authorization = request.headers.get("authorization") or request.headers.get("x-api-key")
    proxy.caller(authorization.encode("latin-1") if authorization else None)
    cards: dict[str, Any] = {}
    for worker in workers:
        for name in worker.models:
            cards.setdefault(name, worker.cards.get(name) or {"id": name, "object": "model"})
    if not cards:
        raise Refusal("no_engine")
    return cards


def _json(body: Any, status: int, headers: dict[str, str]) -> Response:
    return Response(msgspec.json.encode(body), status, headers, "application/json")
