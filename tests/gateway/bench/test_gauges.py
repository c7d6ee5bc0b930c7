"""gateway.bench.gauges: what engines say of themselves, and that nothing there can end a run."""

from aiohttp import web
from aiohttp.test_utils import TestServer

from gateway.bench.gauges import ACCEPTED, KV_USE, RUNNING, WAITING, Sampler, decode_load, decode_metrics, over_time
from tests.gateway.bench.target import Handler, plain, target

SGLANG = """# TYPE sglang:num_running_reqs gauge
sglang:num_running_reqs{dp_rank="0"} 3.0
sglang:num_running_reqs{dp_rank="1"} 4.0
# TYPE sglang:token_usage gauge
sglang:token_usage{dp_rank="0"} 0.2
sglang:token_usage{dp_rank="1"} 0.4
# TYPE sglang:spec_accept_length gauge
sglang:spec_accept_length 2.5
# TYPE sglang:num_queue_reqs gauge
sglang:num_queue_reqs NaN
"""
ROW = {"id": "e", "url": "http://127.0.0.1:9", "running": 2, "waiting": 1, "kv_used_tokens": 30}


def test_metrics_of_ranks_are_one_engines() -> None:
    """Requests are added up, shares and lengths are means; what is no number is not there."""
    found = decode_metrics(SGLANG)
    assert found == {RUNNING: 7.0, KV_USE: (0.2 + 0.4) / 2, ACCEPTED: 2.5}
    assert decode_metrics('vllm:num_requests_waiting{a="b"} 5\n') == {WAITING: 5.0}
    assert decode_metrics("no{such page") == {}
    drafts = "vllm:spec_decode_num_drafts_total{} 10.0\nvllm:spec_decode_num_accepted_tokens_total{} 15.0\n"
    assert decode_metrics(drafts) == {ACCEPTED: 2.5}
    assert decode_metrics("llamacpp:requests_processing 2\n") == {RUNNING: 2.0}
    assert decode_metrics("sglang:spec_accept_length 0.0\nsglang:num_running_reqs 0.0\n") == {RUNNING: 0.0}


def test_a_load_report_is_read_by_the_kind_that_can() -> None:
    """SGLang's here; anything else tells nothing."""
    assert decode_load(b'{"loads":[{"num_running_reqs":3,"num_waiting_reqs":2}]}') == {RUNNING: 3, WAITING: 2}
    assert decode_load(b"<html>") == {}


async def test_a_gateway_tells_of_its_workers() -> None:
    """Also of those that cannot be reached from here."""
    workers = {"workers": [ROW | {"kv_capacity_tokens": 60}]}
    async with target(plain({}), workers=workers) as asked, Sampler(asked.url, [], lambda: 7.0, {}) as sampler:
        await sampler.look()
    seen = {(gauge.engine, gauge.name): gauge.value for gauge in sampler.seen}
    assert seen == {(ROW["url"], RUNNING): 2, (ROW["url"], WAITING): 1, (ROW["url"], KV_USE): 0.5}
    assert over_time(sampler.seen)[RUNNING] == {ROW["url"]: [(7.0, 2)]}


async def test_an_engine_without_metrics_is_asked_for_its_load() -> None:
    """As SGLang without --enable-metrics."""
    pages = {"v1_loads": {"loads": [{"num_running_reqs": 3, "num_waiting_reqs": 0}]}}
    async with target(plain({}), **pages) as asked, Sampler(asked.url, [], lambda: 0.0, {}) as sampler:
        await sampler.look()
    assert {gauge.name: gauge.value for gauge in sampler.seen} == {RUNNING: 3, WAITING: 0}


async def test_a_target_that_tells_nothing(unused_tcp_port: int) -> None:
    """No gauges, no error."""
    async with Sampler(f"http://127.0.0.1:{unused_tcp_port}", [], lambda: 0.0, {}) as sampler:
        await sampler.look()
        await sampler.look()
    assert sampler.seen == []


async def test_keys_are_for_the_target_only() -> None:
    """An engine that a gateway names is asked without them."""
    keys: dict[str, str | None] = {}

    async def note(request: web.Request) -> web.Response:
        keys[request.path] = request.headers.get("authorization")
        return web.json_response({"workers": [ROW | {"url": str(engine.make_url("")).rstrip("/")}]})

    async with TestServer(_app(note)) as engine, TestServer(_app(note)) as gateway:
        url = str(gateway.make_url("")).rstrip("/")
        async with Sampler(url, [], lambda: 0.0, {"authorization": "Bearer k"}) as sampler:
            await sampler.look()
    assert keys == {"/workers": "Bearer k", "/metrics": None, "/v1/loads": None}


def _app(handler: Handler) -> web.Application:
    app = web.Application()
    app.router.add_get("/{path:.*}", handler)
    return app
