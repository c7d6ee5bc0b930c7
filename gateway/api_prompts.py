"""The prompt versions: `/api/prompts` lists them, `/api/prompts/{route}/{version}` tells what is wrong with one.

No text of any prompt: as in gateway.api_requests.
"""

import asyncio
from dataclasses import dataclass, fields
from typing import Final

from fastapi import APIRouter, Request, Response

from gateway.admin import AdminGuard
from gateway.api_live import Live
from gateway.errors import Refusal
from gateway.tables import Format, ReasonTokens, answer, redacted, sum_fields, table
from prefix.explanations import EXPLANATIONS
from telemetry.comparison import Comparison, Verdict
from telemetry.latency import Percentiles
from telemetry.partings import Loss, Partings
from telemetry.versions import Version

DAY_S: Final = 86_400
LEAST_S: Final = 60
"""A version seen for less than a minute counts as seen for one: what it loses in a day is still a guess."""


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


@dataclass(frozen=True, slots=True)
class LossRow:
    """What one cause cost a version; all null but the sums where nobody has looked yet what parted the prompts.

    cause: as `clock in /messages/0/content at 1,893`; offset, offset_end: the least and the largest seen.
    values: the two that differed, redacted. requests: those that lost tokens. request_id: one of them.
    """

    cause: str | None
    kind: str | None
    pointer: str | None
    offset: int | None
    offset_end: int | None
    advice: str | None
    values: tuple[str, str] | None
    requests: int
    tokens: int
    tokens_per_day: float
    request_id: str


@dataclass(frozen=True, slots=True)
class PromptDetail(PromptRow):
    """A row of /api/prompts, what parted its prompts from earlier ones, dearest first (the tokens add up to
    recoverable_tokens), and how it does against its predecessor, null when it has none."""

    causes: list[LossRow]
    comparison: Comparison | None


def prompt_routes(guard: AdminGuard, live: Live, partings: Partings) -> APIRouter:
    """`/api/prompts` and `/api/prompts/{route}/{prompt_version}`."""
    routes = APIRouter(prefix="/api", tags=["prompts"])

    @routes.get("/prompts", response_model=PromptRows)
    async def prompts(request: Request, route: str | None = None, form: Format = "json") -> Response:
        """Every prompt version, `other` and `unversioned` among them, so that the rows add up to all requests."""
        guard(request)
        return await asyncio.to_thread(_rows, live, route, form)

    @routes.get("/prompts/{route}/{prompt_version:path}", response_model=PromptDetail)
    async def prompt(request: Request, route: str, prompt_version: str) -> Response:
        """One prompt version: why its prompts miss what they could share, and whether it is worse than the last."""
        guard(request)
        version = live.board.find(route, prompt_version)
        if version is None:
            raise Refusal(
                "prompt_not_found", f"no request of route {route[:64]!r} had version {prompt_version[:64]!r}"
            )
        now = live.now()
        comparison = live.board.compare(route, prompt_version)
        with live.board.lock:
            row = _row(route, prompt_version, version, comparison, now)
        causes = [_loss(each, version, now) for each in partings.of((route, prompt_version))]
        same = {each.name: getattr(row, each.name) for each in fields(PromptRow)}
        return answer(PromptDetail(**same, causes=causes, comparison=comparison))

    return routes


def _rows(live: Live, route: str | None, form: Format) -> Response:
    """In a thread: there may be a thousand."""
    now, board = live.now(), live.board
    rows = []
    for name, label, version in board.of(route):
        comparison = board.compare(name, label)
        with board.lock:
            rows.append(_row(name, label, version, comparison, now))
    return table(PromptRows(rows), rows, [each.name for each in fields(PromptRow)], "prompts", form)


def _row(route: str, label: str, version: Version, comparison: Comparison | None, now: float) -> PromptRow:
    sums = version.total.sums()
    lost = sums.uncached_by_reason.get("divergent", 0)
    return PromptRow(
        route=route,
        prompt_version=label,
        declared=version.declared,
        first_seen=version.first_seen,
        last_seen=version.last_seen,
        **sum_fields(sums),
        ttft_s=version.ttft.percentiles(),
        recoverable_tokens=lost,
        recoverable_tokens_per_day=_per_day(lost, version, now),
        sparkline=version.sparkline(now),
        predecessor=comparison.predecessor if comparison is not None else None,
        regression=_regression(comparison) if comparison is not None else None,
    )


def _regression(comparison: Comparison) -> Regression:
    found = comparison.hit_rate
    return Regression(comparison.verdict, found.change if found else None, found.p_value if found else None)


def _loss(loss: Loss, version: Version, now: float) -> LossRow:
    cause = loss.cause
    return LossRow(
        cause=str(cause) if cause is not None else None,
        kind=cause.kind if cause is not None else None,
        pointer=cause.path if cause is not None else None,
        offset=loss.offset,
        offset_end=loss.offset_end,
        advice=EXPLANATIONS[cause.kind].advice if cause is not None else None,
        values=(redacted(loss.sizes[0]), redacted(loss.sizes[1])) if cause is not None else None,
        requests=loss.requests,
        tokens=loss.tokens,
        tokens_per_day=_per_day(loss.tokens, version, now),
        request_id=loss.request_id,
    )


def _per_day(tokens: int, version: Version, now: float) -> float:
    return tokens * DAY_S / max(LEAST_S, now - version.first_seen)
