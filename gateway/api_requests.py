"""The last requests: `/api/requests` lists them, `/api/requests/{id}` says why one missed.

No text of any prompt: a cause names the place and its kind, and of the two values that differ there only how long
they are.
"""

import asyncio
from dataclasses import dataclass, fields
from itertools import islice
from typing import Any

from fastapi import APIRouter, Query, Request, Response

from gateway.admin import AdminGuard
from gateway.errors import Refusal
from gateway.misses import REQUESTS, Miss, Misses, Parted
from gateway.tables import Format, ReasonTokens, redacted, table
from prefix.causes import Cause
from prefix.explanations import EXPLANATIONS
from prefix.record import RequestRecord, UncachedReason


@dataclass(frozen=True, slots=True)
class FinishedRequest:
    """One finished request. uncached_by_reason: null when no engine counted its prompt. Times in seconds; started:
    Unix time. Route, customer and version are as they came, which a label of the sums need not be."""

    request_id: str
    started: float
    path: str
    route: str
    customer: str
    prompt_version: str | None
    worker: str | None
    status: int
    input_tokens: int | None
    cached_tokens: int | None
    uncached_by_reason: ReasonTokens | None
    ttft_s: float | None
    duration_s: float


_COLUMNS = tuple(each.name for each in fields(FinishedRequest))


@dataclass(frozen=True, slots=True)
class FinishedRequests:
    """The newest first."""

    rows: list[FinishedRequest]


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


def request_routes(guard: AdminGuard, misses: Misses) -> APIRouter:
    """`/api/requests` and `/api/requests/{id}`."""
    routes = APIRouter(prefix="/api", tags=["requests"])

    @routes.get("/requests", response_model=FinishedRequests)
    async def recent(
        request: Request,
        limit: int = Query(100, ge=1, le=REQUESTS),
        route: str | None = None,
        customer: str | None = None,
        prompt_version: str | None = None,
        worker: str | None = None,
        reason: UncachedReason | None = None,
        form: Format = "json",
    ) -> Response:
        """The last finished requests that are of this route, customer, prompt version and worker, and have uncached
        tokens for this reason."""
        guard(request)
        wanted = {"route": route, "customer": customer, "prompt_version": prompt_version, "worker": worker}
        asked = {name: value for name, value in wanted.items() if value is not None}
        found = (record for record in misses.recent() if _is_wanted(record, asked, reason))
        rows = [_listed(record) for record in islice(found, limit)]
        return table(FinishedRequests(rows), rows, _COLUMNS, "requests", form)

    @routes.get("/requests/{request_id}")
    async def explain(request: Request, request_id: str) -> ExplainedRequest:
        """Why one of the last requests missed. The id is the one in its x-prefixgate-request-id header."""
        guard(request)
        miss = misses.find(request_id)
        if miss is None:
            raise Refusal("request_not_found", f"no recent request has the id {request_id[:64]!r}")
        cause, _ = await asyncio.to_thread(miss.parting.examine) if miss.parting is not None else (None, 0.0)
        return _explained(miss, cause)

    return routes


def _is_wanted(record: RequestRecord, asked: dict[str, str], reason: UncachedReason | None) -> bool:
    same = all(getattr(record, name) == value for name, value in asked.items())
    return same and (reason is None or bool((record.uncached_by_reason or {}).get(reason)))


def _listed(record: RequestRecord) -> FinishedRequest:
    values: dict[str, Any] = {name: getattr(record, name) for name in _COLUMNS}
    return FinishedRequest(**values)


def _explained(miss: Miss, cause: Cause | None) -> ExplainedRequest:
    record, parting = miss
    tokens = record.input_tokens or 0
    divergent = _divergent(parting, cause, tokens) if parting is not None else None
    same = {name: getattr(record, name) for name in ExplainedRequest.__slots__ if hasattr(record, name)}
    return ExplainedRequest(**same, route_reason=record.reason, divergent=divergent)


def _divergent(parting: Parted, cause: Cause | None, tokens: int) -> Divergent:
    shared, recoverable = (size * tokens // parting.size for size in (parting.shared, parting.recurring))
    if cause is None:
        return Divergent(None, None, None, None, None, None, shared, recoverable)
    values = _shown(cause.a), _shown(cause.b)
    advice = EXPLANATIONS[cause.kind].advice
    return Divergent(str(cause), cause.kind, cause.path, cause.offset, advice, values, shared, recoverable)


def _shown(value: str | None) -> str:
    return redacted(None if value is None else len(value))
