"""What happens now and happened in the last hour: `/api/overview`, `/api/history`, `/api/latency`, `/api/events`."""

from collections.abc import Callable
from dataclasses import dataclass, fields

import msgspec
from fastapi import APIRouter, Query, Request, Response

from gateway.admin import AdminGuard
from gateway.config import Config
from gateway.events import Events, EventStream
from gateway.tables import Format, ReasonTokens, answer, sum_fields, table
from gateway.version import __version__
from telemetry.board import Board
from telemetry.history import FLEET_STEP_S, FLEET_STEPS, Point
from telemetry.latency import EDGES, Percentiles

_HOUR_S = FLEET_STEP_S * FLEET_STEPS


@dataclass(frozen=True, slots=True)
class Totals:
    """All requests since the start. Token sums are those of the requests whose cached count is known."""

    requests: int
    input_tokens: int
    cached_tokens: int
    hit_rate: float | None
    uncached_by_reason: ReasonTokens
    unknown_requests: int
    expected_cached_tokens: int


@dataclass(frozen=True, slots=True)
class Overview:
    """The gateway at one moment. Times are Unix seconds; requests_per_s: over the last minute."""

    now: float
    started: float
    version: str
    policy: str
    level: str
    totals: Totals
    requests_per_s: float


@dataclass(frozen=True, slots=True)
class History:
    """Steps of step_s seconds, oldest first, those without requests too; the last one is still running."""

    step_s: int
    points: list[Point]


@dataclass(frozen=True, slots=True)
class Tick:
    """The data of one event: the overview and the step of the history that is still running."""

    overview: Overview
    point: Point


@dataclass(frozen=True, slots=True)
class LatencyRow:
    """Requests whose prompt has from prompt_tokens_from to below prompt_tokens_to tokens (null: no end).

    ttft_s and itl_s are of successful streamed responses, null without any; itl_s: of the responses' mean gaps.
    """

    prompt_tokens_from: int
    prompt_tokens_to: int | None
    requests: int
    ttft_s: Percentiles | None
    itl_s: Percentiles | None


@dataclass(frozen=True, slots=True)
class LatencyRows:
    """By prompt length, shortest first."""

    rows: list[LatencyRow]


class Live:
    """What the moment's answers are made of. config: the current one; now: Unix seconds, monotonic."""

    def __init__(self, board: Board, config: Callable[[], Config], now: Callable[[], float]) -> None:
        self.board = board
        self.now = now
        self._config = config

    def overview(self) -> Overview:
        """The gateway now."""
        now, config, sums = self.now(), self._config(), self.board.totals()
        totals = Totals(**sum_fields(sums), expected_cached_tokens=sums.expected_cached_tokens)
        rate = self.board.requests_per_s(now)
        return Overview(now, self.board.started, __version__, config.policy, config.level, totals, rate)

    def tick(self) -> bytes:
        """What is pushed to dashboards, as JSON."""
        _, points = self.board.history(self.now(), FLEET_STEP_S)
        return msgspec.json.encode(Tick(self.overview(), points[-1]))


def live_routes(guard: AdminGuard, live: Live, events: Events) -> APIRouter:
    """The four paths."""
    routes = APIRouter(prefix="/api", tags=["live"])
    board = live.board

    @routes.get("/overview", response_model=Overview)
    async def overview(request: Request) -> Response:
        """The gateway now, and the sums over all requests since its start."""
        guard(request)
        return answer(live.overview())

    @routes.get("/history", response_model=History)
    async def history(
        request: Request,
        route: str | None = None,
        customer: str | None = None,
        prompt_version: str | None = None,
        window_s: int = Query(_HOUR_S, ge=1, le=_HOUR_S),
        form: Format = "json",
    ) -> Response:
        """Token sums over time: in steps of 10 s for all requests, of 60 s for some of them."""
        guard(request)
        step_s, found = board.history(live.now(), window_s, route=route, customer=customer, version=prompt_version)
        return table(History(step_s, found), found, [each.name for each in fields(Point)], "history", form)

    @routes.get("/latency", response_model=LatencyRows)
    async def latency(request: Request, route: str | None = None, form: Format = "json") -> Response:
        """Percentiles of time to first token and of the gap between tokens, by prompt length, since the start."""
        guard(request)
        lengths = board.latency(route)
        rows = [
            LatencyRow(
                least, most, lengths.requests[at], lengths.ttft[at].percentiles(), lengths.itl[at].percentiles()
            )
            for at, (least, most) in enumerate(zip((0, *EDGES), (*EDGES, None), strict=True))
        ]
        return table(LatencyRows(rows), rows, (), "latency", form)

    @routes.get("/events", status_code=200, response_class=EventStream)
    async def listen(request: Request) -> Response:
        """Server-sent events: every two seconds a `tick`, whose data is {"overview": as /api/overview, "point": the
        newest of /api/history}. At most 32 listeners; ends when the gateway shuts down."""
        guard(request)
        return EventStream(events)

    return routes
