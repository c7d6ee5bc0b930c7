"""The operators' JSON API: where tokens go by route, customer and prompt version, and why one request missed.

For operators only (gateway.admin). No text of any prompt: a cause names the place and its kind, and of the two values
that differ there only how long they are.
"""

import asyncio
from dataclasses import dataclass

from fastapi import APIRouter, Request

from gateway.admin import AdminGuard
from gateway.errors import Refusal
from gateway.misses import Miss, Misses, Parting
from prefix.causes import Cause
from prefix.errors import ConfigError
from prefix.explanations import EXPLANATIONS
from prefix.record import UncachedReason
from telemetry.aggregate import DIMENSIONS, Aggregate, Row

ReasonTokens = dict[UncachedReason, int]


@dataclass(frozen=True, slots=True)
class CacheRow:
    """Requests of one group. Dimensions that were not asked for are null. Token sums are those of the requests whose
    cached count is known; hit_rate is null when there are none."""

    route: str | None
    customer: str | None
    prompt_version: str | None
    requests: int
    input_tokens: int
    cached_tokens: int
    hit_rate: float | None
    uncached_by_reason: ReasonTokens
    unknown_requests: int


@dataclass(frozen=True, slots=True)
class CacheRows:
    """The groups, in order of their labels."""

    rows: list[CacheRow]


@dataclass(frozen=True, slots=True)
class Divergent:
    """Where a prompt parts from its nearest recent one. cause: as `clock in /messages/0/content at 1,893`, null when
    the bodies are no longer there or do not show it. values: the two that differ, of that prompt and of this one,
    redacted. Tokens are scaled from bytes: those in common, and those behind that come again there."""

    cause: str | None
    kind: str | None
    pointer: str | None
    offset: int | None
    advice: str | None
    values: tuple[str, str] | None
    shared_tokens: int
    recoverable_tokens: int


@dataclass(frozen=True, slots=True)
class ExplainedRequest:
    """One finished request. uncached_by_reason: null when no engine counted its prompt. divergent: null when none of
    its tokens are, or when that was too long ago. Times in seconds."""

    request_id: str
    started: float
    path: str
    route: str
    customer: str
    prompt_version: str | None
    model: str
    worker: str | None
    route_reason: str | None
    status: int
    outcome: str
    input_tokens: int | None
    cached_tokens: int | None
    expected_cached_tokens: int | None
    best_fleet_tokens: int | None
    uncached_by_reason: ReasonTokens | None
    divergent: Divergent | None
    ttft_s: float | None
    duration_s: float


def api_routes(guard: AdminGuard, aggregate: Aggregate, misses: Misses) -> APIRouter:
    """`/api/cache` and `/api/requests/{id}`."""
    routes = APIRouter(prefix="/api", tags=["cache"])

    @routes.get("/cache")
    async def cache(request: Request, by: str = ",".join(DIMENSIONS)) -> CacheRows:
        """Cache hits and the reasons of misses, grouped by any of route, customer and prompt_version, since start."""
        guard(request)
        try:
            rows = aggregate.rows([name.strip() for name in by.split(",") if name.strip()])
        except ConfigError as error:
            raise Refusal("invalid_query", str(error), param="by") from None
        return CacheRows([_cache_row(row) for row in rows])

    @routes.get("/requests/{request_id}")
    async def explain(request: Request, request_id: str) -> ExplainedRequest:
        """Why one of the last requests missed. The id is the one in its x-prefixgate-request-id header."""
        guard(request)
        miss = misses.find(request_id)
        if miss is None:
            raise Refusal("request_not_found", f"no recent request has the id {request_id[:64]!r}")
        cause = await asyncio.to_thread(miss.parting.cause) if miss.parting is not None else None
        return _explained(miss, cause)

    return routes


def _cache_row(row: Row) -> CacheRow:
    sums = row.sums
    return CacheRow(
        route=row.route,
        customer=row.customer,
        prompt_version=row.prompt_version,
        requests=sums.requests,
        input_tokens=sums.input_tokens,
        cached_tokens=sums.cached_tokens,
        hit_rate=row.hit_rate,
        uncached_by_reason=dict(sums.uncached),
        unknown_requests=sums.unknown_requests,
    )


def _explained(miss: Miss, cause: Cause | None) -> ExplainedRequest:
    record, parting = miss
    tokens = record.input_tokens or 0
    divergent = _divergent(parting, cause, tokens) if parting is not None else None
    same = {name: getattr(record, name) for name in ExplainedRequest.__slots__ if hasattr(record, name)}
    return ExplainedRequest(**same, route_reason=record.reason, divergent=divergent)


def _divergent(parting: Parting, cause: Cause | None, tokens: int) -> Divergent:
    shared, recoverable = (size * tokens // parting.size for size in (parting.shared, parting.recurring))
    if cause is None:
        return Divergent(None, None, None, None, None, None, shared, recoverable)
    values = _redacted(cause.a), _redacted(cause.b)
    advice = EXPLANATIONS[cause.kind].advice
    return Divergent(str(cause), cause.kind, cause.path, cause.offset, advice, values, shared, recoverable)


def _redacted(value: str | None) -> str:
    return "nothing" if value is None else f"{len(value):,} characters"
