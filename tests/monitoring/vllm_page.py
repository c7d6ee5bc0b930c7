"""A metrics page with vLLM's names, made by the client library that vLLM uses, with its spelling of the colon.

No vLLM runs here: what this shows is that the scrape configuration and the dashboard read those names as
prometheus_client serves them (names: vllm/v1/metrics/loggers.py). The numbers mean nothing.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.openmetrics import exposition

COUNTERS: Final = ("prefix_cache_queries", "prefix_cache_hits", "num_preemptions")
_page: Callable[[CollectorRegistry], bytes] = exposition.generate_latest
GAUGES: Final = ("num_requests_running", "num_requests_waiting", "kv_cache_usage_perc")


@asynccontextmanager
async def vllm_page() -> AsyncIterator[str]:
    """Host and port of a page whose counters grow with every scrape."""
    registry = CollectorRegistry()
    gauges = [Gauge(f"vllm:{name}", name, ["model_name"], registry=registry).labels("m") for name in GAUGES]
    counters = [Counter(f"vllm:{name}", name, ["model_name"], registry=registry).labels("m") for name in COUNTERS]

    async def metrics(_: web.Request) -> web.Response:
        for gauge in gauges:
            gauge.set(0.5)
        for number, counter in enumerate(counters):
            counter.inc(100 // (number + 1))
        return web.Response(body=_page(registry), headers={"content-type": exposition.CONTENT_TYPE_LATEST})

    app = web.Application()
    app.router.add_get("/metrics", metrics)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield f"127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
