"""A live gateway with the demo's traffic for the page to show: real requests over HTTP, simulated engines.

Planted in it: a clock in front of a prompt version and tools in a random order (the demo's own habits), caches that
are too small, one customer whose requests carry a cache salt each, and version v2 rolled out half-way. `lapse` makes
the page's clock run faster than the traffic, so that a short run fills an hour of charts; nothing else is told so.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from unittest import mock

import msgspec

from engine_adapter.engine_request import EngineConfig
from engine_adapter.simulated import SimulatedEngine
from engine_adapter.simulated_options import EngineOptions
from gateway.config import RouteConfig
from gateway.demo.command import MODEL
from gateway.demo.load import replay
from gateway.demo.script import ROUTES
from gateway.demo.workload import DemoRequest, Workload, build_workload
from gateway.trace_file import BUNDLED_BLOCK_TOKENS, BUNDLED_TRACE, read_trace
from tests.gateway.running import Running, running

SALTED = "initech"
"""The customer whose requests share nothing, as each has a salt of its own."""
ENGINES = 3
KV_TOKENS = 30_000


def traffic(count: int, seconds: float) -> Workload:
    """So many requests of the demo, over so many seconds, with salts for one customer. Versions are named after
    their route, as people name them."""
    trace = read_trace(BUNDLED_TRACE)
    workload = build_workload(trace, block_tokens=BUNDLED_BLOCK_TOKENS, count=count, seconds=seconds, model=MODEL)
    planted = [_planted(number, request, seconds) for number, request in enumerate(workload.requests)]
    return replace(workload, requests=tuple(sorted(planted, key=lambda request: request.arrival_s)))


def _planted(number: int, request: DemoRequest, seconds: float) -> DemoRequest:
    version, body = f"{request.route}-{request.prompt_version}", request.body
    arrival = request.arrival_s if request.prompt_version == "v1" else (seconds + request.arrival_s) / 2
    if request.customer == SALTED:
        body = msgspec.json.encode(msgspec.json.decode(body) | {"cache_salt": f"session {number}"})
    return replace(request, arrival_s=arrival, prompt_version=version, body=body)


@asynccontextmanager
async def live(
    *,
    count: int = 0,
    seconds: float = 1.0,
    admin_token: str | None = None,
    lapse: float = 1.0,
    since_s: float = 0.0,
    speed: float = 1.0,
    routes: Iterable[str] = ROUTES,
) -> AsyncIterator[Running]:
    """A gateway that has served `count` requests of the demo within so many seconds. speed: of the engines."""
    config = EngineConfig(kv_capacity_tokens=KV_TOKENS)
    options = EngineOptions(model=MODEL, config=config, speed=speed, stream_interval=8)
    async with AsyncExitStack() as stack:
        engines = [await stack.enter_async_context(SimulatedEngine(options)) for _ in range(ENGINES)]
        stack.enter_context(mock.patch("gateway.shown.Shown.now", _lapsing(lapse, since_s)))
        settings = {name: RouteConfig() for name in routes}
        gateway = await stack.enter_async_context(running(*engines, admin_token=admin_token, routes=settings))
        if count:
            outcomes = await replay(traffic(count, seconds), gateway.url, lambda _: None)
            failed = [outcome.error for outcome in outcomes if outcome.error]
            assert not failed, failed[:3]
        yield gateway


def _lapsing(lapse: float, since_s: float) -> Callable[[object], float]:
    """Unix seconds, monotonic, that begin so long ago and run `lapse` times as fast as time does."""
    start, wall = time.monotonic(), time.time() - since_s
    return lambda _: wall + (time.monotonic() - start) * lapse


async def settled(gateway: Running) -> None:
    """Wait until every request is counted."""
    while not gateway.settled():
        await asyncio.sleep(0.01)
