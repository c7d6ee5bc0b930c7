"""The prompt versions: `/api/prompts` lists them, worst or newest is for the reader to sort."""

import asyncio
from dataclasses import dataclass, fields
from typing import Final, Literal

from fastapi import APIRouter, Request, Response

from gateway.admin import AdminGuard
from gateway.api_live import Live
from gateway.tables import Format, ReasonTokens, sum_fields, table
from telemetry.latency import Percentiles
from telemetry.versions import Version

DAY_S: Final = 86_400
LEAST_S: Final = 60
"""A version seen for less than a minute counts as seen for one: what it loses in a day is still a guess."""

Verdict = Literal["worse", "better", "same", "not enough data"]


@dataclass(frozen=True, slots=True)
class Regression:
    """How a version does against its predecessor: hit rate after minus before, null until there is enough data."""

    verdict: Verdict
    hit_rate_change: float | None
    p_value: float | None


@dataclass(frozen=True, slots=True)
class PromptRow:
    """One prompt version of one route. first_seen, last_seen: Unix seconds. Token sums as in /api/cache.

    recoverable_tokens: those uncached for `divergent`; per day: at their average rate since first_seen. sparkline:
    the hit rate of each of the last 30 minutes, oldest first. predecessor: the version that it is compared with.
    """

    route: str
    prompt_version: str
    declared: bool
    first_seen: float
    last_seen: float
    requests: int
    input_tokens: int
    cached_tokens: int
    hit_rate: float | None
    uncached_by_reason: ReasonTokens
    unknown_requests: int
    ttft_s: Percentiles | None
    recoverable_tokens: int
    recoverable_tokens_per_day: float
    sparkline: list[float | None]
    predecessor: str | None
    regression: Regression | None


@dataclass(frozen=True, slots=True)
class PromptRows:
    """By route and version."""

    rows: list[PromptRow]


def prompt_routes(guard: AdminGuard, live: Live) -> APIRouter:
    """`/api/prompts`."""
    routes = APIRouter(prefix="/api", tags=["prompts"])

    @routes.get("/prompts", response_model=PromptRows)
    async def prompts(request: Request, route: str | None = None, form: Format = "json") -> Response:
        """Every prompt version, `other` and `unversioned` among them, so that the rows add up to all requests."""
        guard(request)
        return await asyncio.to_thread(_rows, live, route, form)

    return routes


def _rows(live: Live, route: str | None, form: Format) -> Response:
    """In a thread: there may be a thousand."""
    now = live.now()
    rows = []
    for name, label, version in live.board.of(route):
        with live.board.lock:
            rows.append(_row(name, label, version, now))
    return table(PromptRows(rows), rows, [each.name for each in fields(PromptRow)], "prompts", form)


def _row(route: str, label: str, version: Version, now: float) -> PromptRow:
    lost = version.sums.uncached["divergent"]
    return PromptRow(
        route=route,
        prompt_version=label,
        declared=version.declared,
        first_seen=version.first_seen,
        last_seen=version.last_seen,
        **sum_fields(version.sums),
        ttft_s=version.ttft.percentiles(),
        recoverable_tokens=lost,
        recoverable_tokens_per_day=lost * DAY_S / max(LEAST_S, now - version.first_seen),
        sparkline=version.sparkline(now),
        predecessor=None,
        regression=None,
    )
