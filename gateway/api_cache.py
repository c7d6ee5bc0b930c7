"""Where tokens go by route, customer and prompt version: `/api/cache`."""

from dataclasses import dataclass, fields

from fastapi import APIRouter, Request, Response

from gateway.admin import AdminGuard
from gateway.errors import Refusal
from gateway.tables import Format, ReasonTokens, sum_fields, table
from prefix.errors import ConfigError
from telemetry.aggregate import DIMENSIONS, Aggregate, Row


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


def cache_routes(guard: AdminGuard, aggregate: Aggregate) -> APIRouter:
    """`/api/cache`."""
    routes = APIRouter(prefix="/api", tags=["cache"])

    @routes.get("/cache", response_model=CacheRows)
    async def cache(request: Request, by: str = ",".join(DIMENSIONS), form: Format = "json") -> Response:
        """Cache hits and the reasons of misses, grouped by any of route, customer and prompt_version, since start."""
        guard(request)
        try:
            found = aggregate.rows([name.strip() for name in by.split(",") if name.strip()])
        except ConfigError as error:
            raise Refusal("invalid_query", str(error), param="by") from None
        rows = [_cache_row(row) for row in found]
        return table(CacheRows(rows), rows, [each.name for each in fields(CacheRow)], "cache", form)

    return routes


def _cache_row(row: Row) -> CacheRow:
    return CacheRow(row.route, row.customer, row.prompt_version, **sum_fields(row.sums))
