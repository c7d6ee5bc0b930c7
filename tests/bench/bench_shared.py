"""What sharing over Redis is worth and how fast it is: one gateway, four with it, four without.

    python -m tests.bench.bench_shared [--requests 240]

The demo's public trace, four simulated engines, a real redis-server; requests go to the gateways in turn, in trace
order, four at a time. Latency: from a gateway's decision until another one's router knows of it, in one process.
"""

import argparse
import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from engine_adapter.engine_request import EngineConfig
from engine_adapter.simulated import SimulatedEngine
from engine_adapter.simulated_options import EngineOptions
from gateway.demo.workload import DemoRequest, build_workload
from gateway.router import Route, Router
from gateway.trace_file import BUNDLED_BLOCK_TOKENS, BUNDLED_TRACE, read_trace
from tests.gateway.operators import asks
from tests.gateway.running import CHAT, Running, running, until
from tests.gateway.shared.redis_server import fleet, redis_server

_PAGE = 16
_AT_A_TIME = 4


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=240)
    asyncio.run(measure(parser.parse_args().requests))


async def measure(count: int) -> None:
    """All of them, cold caches each time."""
    requests = slice_of_trace(count)
    print(f"{len(requests)} requests, 4 engines")
    async with engines(4) as workers, running(*workers) as single:
        print(f"one gateway           hit rate {await replay([single], requests):.4f}")
    async with engines(4) as workers, AsyncExitStack() as stack:
        alone = [await stack.enter_async_context(running(*workers)) for _ in range(4)]
        print(f"four without Redis    hit rate {await replay(alone, requests):.4f}")
    async with redis_server() as server, engines(4) as workers, fleet(server, 4, *workers) as four:
        print(f"four with Redis       hit rate {await replay(four, requests):.4f}")
        print_seen(await visible_ms(four, 100))


def slice_of_trace(count: int) -> tuple[DemoRequest, ...]:
    """Whole conversations of the demo's trace."""
    trace = read_trace(BUNDLED_TRACE)
    built = build_workload(trace, block_tokens=BUNDLED_BLOCK_TOKENS, count=count, seconds=1.0, model="simulated")
    return built.requests


@asynccontextmanager
async def engines(count: int) -> AsyncIterator[list[SimulatedEngine]]:
    """Simulated engines with cold caches that are never full."""
    async with AsyncExitStack() as stack:
        made = [
            SimulatedEngine(EngineOptions(speed=1e4, config=EngineConfig(page_tokens=_PAGE))) for _ in range(count)
        ]
        for engine in made:
            await engine.start()
            stack.push_async_callback(engine.stop)
        yield made


async def replay(gateways: list[Running], requests: Sequence[DemoRequest]) -> float:
    """The hit rate of these requests, sent to the gateways in turn, some at a time."""
    turn = asyncio.Semaphore(_AT_A_TIME)

    async def send(gateway: Running, body: bytes) -> None:
        async with turn:
            status, answer = await gateway.ask(CHAT, body)
            assert status == 200, answer

    await asyncio.gather(*(send(gateways[nth % len(gateways)], each.body) for nth, each in enumerate(requests)))
    await until(lambda: sum(len(gateway.records) for gateway in gateways) == len(requests))
    records = [record for gateway in gateways for record in gateway.records]
    return sum(record.cached_tokens or 0 for record in records) / sum(record.input_tokens or 0 for record in records)


async def visible_ms(gateways: list[Running], count: int) -> list[float]:
    """From a decision until all other gateways' routers have it, in milliseconds, sorted."""
    heard: dict[int, list[float]] = {}
    placed: dict[int, float] = {}
    for each in gateways:
        for group in each.app.models:
            note(group.router, placed, heard)
    for nth in range(count):
        await gateways[nth % len(gateways)].ask(CHAT, asks(f"{nth} " * 600))
    await until(lambda: sum(map(len, heard.values())) >= count * (len(gateways) - 1))
    return sorted(1000 * (at - placed[key]) for key, times in heard.items() for at in times if key in placed)


def note(router: Router, placed: dict[int, float], heard: dict[int, list[float]]) -> None:
    """Write down when this router places a prompt, and when it hears of one, by its last block."""
    route, adopt = router.route, router.adopt

    def noted_route(blocks: Sequence[int], *rest: Any, **more: Any) -> Route:
        placed[blocks[-1]] = time.monotonic()
        return route(blocks, *rest, **more)

    def noted_adopt(worker: str, blocks: Sequence[int], *rest: Any, **more: Any) -> Route:
        heard.setdefault(blocks[-1], []).append(time.monotonic())
        return adopt(worker, blocks, *rest, **more)

    for name, noted in (("route", noted_route), ("adopt", noted_adopt)):
        setattr(router, name, noted)


def print_seen(ms: list[float]) -> None:
    """Quantiles."""
    at = {share: ms[min(len(ms) - 1, int(share * len(ms)))] for share in (0.5, 0.9, 0.99)}
    quantiles = "  ".join(f"p{100 * share:.0f} {value:.1f} ms" for share, value in at.items())
    print(f"seen by the others    {quantiles}  ({len(ms)} times)")


if __name__ == "__main__":
    main()
