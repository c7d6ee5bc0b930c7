"""gateway.diagnose.watch: a gateway leads to its engines, and what does not answer is one line."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from gateway.diagnose.watch import around, watch
from prefix.errors import EngineError


def _histogram(name: str, count: int, total: float) -> str:
    rows = f'{name}_bucket{{le="1.0"}} {count}\n{name}_bucket{{le="+Inf"}} {count}\n'
    return f"# TYPE {name} histogram\n{rows}{name}_count {count}\n{name}_sum {total}\n"


@asynccontextmanager
async def _server(looks: list[str], **pages: object) -> AsyncIterator[str]:
    """A server whose /metrics goes from look to look and stays at the last, with these JSON pages besides."""
    asked = iter(looks)

    async def answer(request: web.Request) -> web.Response:
        path = request.match_info["path"].replace("/", "_")
        if path == "metrics" and looks:
            return web.Response(text=next(asked, looks[-1]))
        return web.json_response(pages[path]) if path in pages else web.Response(status=404)

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    async with TestServer(app) as server:
        yield str(server.make_url("")).rstrip("/")


async def test_a_gateways_engines_and_the_time_around_them() -> None:
    """Limits come from the engine, the gateway's and the network's time from both sides' means in the window."""
    ttft = "sglang:time_to_first_token_seconds"
    engine = [_histogram(ttft, 10, 9.0), _histogram(ttft, 20, 14.0)]
    served, own = "gen_ai_server_time_to_first_token_seconds", "prefixgate_overhead_duration_seconds"
    gateway = [
        _histogram(served, 5, 100.0) + _histogram(own, 5, 50.0),
        _histogram(served, 15, 108.0) + _histogram(own, 15, 51.0),
    ]
    loads = {"loads": [{"max_running_requests": 8}]}
    info = {"max_total_num_tokens": 4096, "page_size": 16, "chunked_prefill_size": -1}
    past: list[float] = []
    async with _server(engine, v1_loads=loads, server_info=info) as url:
        workers = {"workers": [{"id": "a", "url": url}]}
        async with _server(gateway, workers=workers) as front:
            seen = await watch(front, 0.02, {}, past.append)
    assert len(seen.looks) >= 2
    assert len(past) == len(seen.looks) - 1
    assert (seen.setup.max_running, seen.setup.kv_capacity_tokens, seen.setup.chunk_tokens) == (8, 4096, None)
    found = around(seen)
    assert found.gateway_s == pytest.approx(0.1)
    assert found.network_s == pytest.approx(0.8 - 0.5 - 0.1)


async def test_an_engine_without_metrics() -> None:
    """The line names the address and the flag."""
    async with _server([]) as url:
        with pytest.raises(EngineError, match="--enable-metrics"):
            await watch(url, 0.02, {}, lambda past: None)
