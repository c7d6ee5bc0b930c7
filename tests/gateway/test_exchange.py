"""gateway.exchange: every request ends in one record, and the records add up to what the engines reported."""

from typing import Any

import aiohttp
import msgspec
import pytest

from engine_adapter.simulated import SimulatedEngine
from engine_adapter.simulated_options import EngineOptions
from gateway.apis import MESSAGES, RESPONSES
from gateway.config import CustomerConfig, RouteConfig
from gateway.identity import new_key
from tests.cases import case
from tests.gateway.fake_engine import FakeEngine, stream, whole
from tests.gateway.running import CHAT, COMPLETIONS, GENERATE, chat, native, running, sums

LONG = "The same long system prompt, over and over. " * 20
FAST = EngineOptions(speed=1000, model="m")


def completion(text: str, **more: Any) -> dict[str, Any]:
    """A completions request."""
    return {"model": "m", "prompt": text, **more}


TRAFFIC: list[tuple[str, dict[str, Any]]] = [
    (CHAT, chat(LONG, max_tokens=3)),
    (CHAT, chat(LONG, max_tokens=4, stream=True)),
    (CHAT, chat(LONG, max_tokens=2, n=3)),
    (CHAT, chat(LONG, max_tokens=2, n=2, stream=True, stream_options={"include_usage": True})),
    (COMPLETIONS, completion(LONG, max_tokens=5)),
    (COMPLETIONS, completion(LONG, max_tokens=5, stream=True)),
    (COMPLETIONS, {"model": "m", "prompt": [LONG, LONG + "b"], "max_tokens": 2}),
    (COMPLETIONS, {"model": "m", "prompt": list(range(1, 200)), "max_tokens": 2}),
    (GENERATE, native(LONG, max_new_tokens=3)),
    (GENERATE, native(LONG, max_new_tokens=3) | {"stream": True}),
    (GENERATE, {"text": [LONG, LONG + "b", LONG + "c"], "sampling_params": {"max_new_tokens": 2}}),
    (GENERATE, native(LONG, max_new_tokens=2, n=3)),
    (GENERATE, {"text": [LONG, LONG], "sampling_params": {"max_new_tokens": 2, "n": 2}}),
]


async def usage_direct(path: str, body: dict[str, Any]) -> tuple[int, int, int]:
    """Prompt, cached and output tokens of one request, by the engine's own report for each prompt."""
    plain = {name: value for name, value in body.items() if name not in ("stream", "stream_options")}
    async with (
        SimulatedEngine(FAST) as engine,
        aiohttp.ClientSession() as http,
        http.post(engine.url + path, json=plain) as response,
    ):
        answer = await response.json()
    if path != GENERATE:
        usage = answer["usage"]
        details = usage["prompt_tokens_details"]
        return usage["prompt_tokens"], details["cached_tokens"], usage["completion_tokens"]
    answers = answer if isinstance(answer, list) else [answer]
    told = [each["meta_info"] for each in answers]
    prompts = told[:: body["sampling_params"].get("n", 1)]
    return (
        sum(each["prompt_tokens"] for each in prompts),
        sum(each["cached_tokens"] for each in prompts),
        sum(each["completion_tokens"] for each in told),
    )


@pytest.mark.parametrize("number", range(len(TRAFFIC)))
async def test_tokens_are_those_the_engine_reported(number: int) -> None:
    """Streamed or whole, one prompt or several, one answer or more (case 36): a prompt counts once."""
    path, body = TRAFFIC[number]
    prompt, cached, output = await usage_direct(path, body)
    async with SimulatedEngine(FAST) as engine, running(engine) as gateway:
        status, _ = await gateway.ask(path, body)
        assert status == 200
        record = await gateway.last_record()
        assert (record.input_tokens, record.cached_tokens, record.output_tokens) == (prompt, cached, output)
        assert record.outcome == "ok"


@pytest.mark.parametrize(("n", "prompt"), [(1, 30), (2, 20), (4, 10)])
async def test_choices_of_one_native_stream_share_their_prompt(n: int, prompt: int) -> None:
    """Case 36: /generate reports each answer with its prompt; the prompt counts once for each n answers."""
    told = {"prompt_tokens": 10, "cached_tokens": 8, "completion_tokens": 2, "finish_reason": {"type": "stop"}}
    events = [{"index": index, "text": "a", "output_ids": [1], "meta_info": told} for index in range(4)]
    if n == 1:
        events.pop()
    answer = stream(*(b"data: " + msgspec.json.encode(event) + b"\n\n" for event in events), b"data: [DONE]\n\n")
    body = native(n=n) | {"stream": True}
    async with FakeEngine(answer) as engine, running(engine) as gateway:
        await gateway.ask(GENERATE, body)
        record = await gateway.last_record()
        assert (record.input_tokens, record.cached_tokens) == (prompt, prompt * 8 // 10)
        assert record.output_tokens == 2 * len(events)


USAGES: dict[int, tuple[str, dict[str, Any]]] = {
    57: (CHAT, chat()),
    58: (MESSAGES, chat(max_tokens=9)),
    59: (MESSAGES, chat(max_tokens=9)),
    60: (CHAT, chat()),
    62: (RESPONSES, {"model": "m", "input": "Hi"}),
    64: (CHAT, chat()),
}


@pytest.mark.parametrize("number", USAGES)
async def test_every_dialect_counts_once_and_what_is_odd_is_counted(number: int) -> None:
    """Cases 57 to 64: the inclusive total, never a sum with its own part; a report that contradicts itself shows."""
    path, body = USAGES[number]
    expected = case(number)["expected"]
    told, anomaly = expected["otel"], expected["record"]["anomaly"]
    answer = whole(msgspec.json.encode({"id": "r", "usage": case(number)["input"]["usage"]}))
    async with FakeEngine(answer) as engine, running(engine) as gateway:
        assert (await gateway.ask(path, body))[0] == 200
        record = await gateway.last_record()
        metrics = await gateway.metrics()
    assert sums(metrics, "prefixgate_input_tokens_total") == told["gen_ai.usage.input_tokens"]
    assert (
        sums(metrics, "gen_ai_client_token_usage_sum", gen_ai_token_type="input") == told["gen_ai.usage.input_tokens"]
    )
    assert sums(metrics, "prefixgate_cached_tokens_total") == told["gen_ai.usage.cache_read.input_tokens"]
    assert sums(metrics, "prefixgate_output_tokens_total") == told["gen_ai.usage.output_tokens"]
    assert record.usage_anomaly == anomaly
    odd = {key: value for key, value in metrics.items() if key.startswith("prefixgate_usage_anomalies_total")}
    assert odd == ({} if anomaly is None else {_anomalies(record.worker, anomaly): 1})


def _anomalies(worker: str | None, anomaly: str) -> str:
    return f'prefixgate_usage_anomalies_total{{anomaly="{anomaly}",worker="{worker}"}}'


async def test_counters_add_up_by_route_customer_and_version() -> None:
    """Labels come from headers; tokens at /metrics are the sums of what two engines counted."""
    routes = {"chat": RouteConfig(), "code": RouteConfig()}
    one, two = SimulatedEngine(FAST), SimulatedEngine(FAST)
    async with one, two, running(one, two, routes=routes) as gateway:
        for turn in range(4):
            for route in ("chat", "code", "typo"):
                for customer in ("acme", "bolt"):
                    status, _ = await gateway.ask(
                        CHAT,
                        chat(route * 200 + LONG, max_tokens=turn + 1, stream=turn % 2 == 0),
                        x_prefixgate_route=route,
                        x_prefixgate_customer=customer,
                        x_prefixgate_prompt_version=f"v{turn % 2}",
                    )
                    assert status == 200
        await gateway.last_record()
        metrics = await gateway.metrics()
        engines = (one.totals, two.totals)
        for name, told in (
            ("input", sum(engine.prompt_tokens for engine in engines)),
            ("cached", sum(engine.cached_tokens for engine in engines)),
            ("output", sum(engine.generation_tokens for engine in engines)),
        ):
            metric = f"prefixgate_{name}_tokens_total"
            assert sums(metrics, metric) == told > 0
            for label, values in (
                ("route", ("chat", "code", "default")),
                ("customer", ("acme", "bolt")),
                ("prompt_version", ("v0", "v1")),
            ):
                parts = [sums(metrics, metric, **{label: value}) for value in values]
                assert all(parts)
                assert sum(parts) == told
        assert sums(metrics, "prefixgate_unreported_input_tokens_total") == 0
        assert sums(metrics, "prefixgate_requests_total", outcome="ok") == 24
        assert sums(metrics, "prefixgate_route_decisions_total") == 24
        assert sums(metrics, "gen_ai_server_time_to_first_token_seconds_count") == 12
        assert sums(metrics, "prefixgate_worker_up") == 2


async def test_without_a_report_nothing_is_known() -> None:
    """Unknown is not zero: an engine that tells no cached tokens adds to the unreported ones only."""
    options = EngineOptions(speed=1000, model="m", cache_report=False)
    async with SimulatedEngine(options) as engine, running(engine) as gateway:
        for stream in (False, True):
            await gateway.ask(CHAT, chat(LONG, max_tokens=3, stream=stream))
        record = await gateway.last_record()
        assert (record.cached_tokens, record.output_tokens) == (None, 3)
        metrics = await gateway.metrics()
        assert sums(metrics, "prefixgate_unreported_input_tokens_total") == engine.totals.prompt_tokens
        assert sums(metrics, "prefixgate_input_tokens_total") == 0
        assert sums(metrics, "prefixgate_cached_tokens_total") == 0


async def test_one_api_that_reports_does_not_speak_for_the_other() -> None:
    """/generate tells cached tokens always; that does not make the missing count of a chat a zero."""
    options = EngineOptions(speed=1000, model="m", cache_report=False)
    async with SimulatedEngine(options) as engine, running(engine) as gateway:
        await gateway.ask(GENERATE, native(LONG, max_new_tokens=1))
        assert (await gateway.last_record()).cached_tokens == 0
        await gateway.ask(CHAT, chat(LONG, max_tokens=3))
        assert (await gateway.last_record()).cached_tokens is None
        assert gateway.workers[0].warning is not None


async def test_customers_and_their_keys() -> None:
    """The key names the customer and its route; headers are believed from trusted ones only; others are no label."""
    keys = {name: new_key() for name in ("plain", "trusted")}
    customers = {
        "plain": CustomerConfig(keys=(keys["plain"][1],), route="chat"),
        "trusted": CustomerConfig(keys=(keys["trusted"][1],), trusted=True),
    }
    routes = {"chat": RouteConfig(), "code": RouteConfig()}
    answer = b'{"usage": {"prompt_tokens": 8, "prompt_tokens_details": {"cached_tokens": 0}}}'
    async with FakeEngine(whole(answer)) as engine, running(engine, routes=routes, customers=customers) as gateway:
        for name, (key, _) in keys.items():
            headers = {"x_prefixgate_route": "code", "x_prefixgate_customer": "other"}
            await gateway.ask(CHAT, chat(), authorization=f"Bearer {key}", **headers)
            record = await gateway.last_record()
            assert (record.customer, record.route) == (name, "chat" if name == "plain" else "code")
        await gateway.ask(CHAT, chat(), authorization="Bearer nobody")
        metrics = await gateway.metrics()
        assert sums(metrics, "prefixgate_input_tokens_total", customer="plain", route="chat") == 8
        assert sums(metrics, "prefixgate_input_tokens_total", customer="trusted", route="code") == 8
        assert sums(metrics, "prefixgate_requests_total", customer="other", status_class="4xx") == 1


async def test_what_a_record_says() -> None:
    """Times, decision and sizes of one served request."""
    async with SimulatedEngine(FAST) as engine, running(engine) as gateway:
        for _ in range(2):
            await gateway.ask(CHAT, chat(LONG, max_tokens=3, stream=True))
        record = await gateway.last_record()
        assert (record.path, record.model, record.worker) == (CHAT, "m", gateway.workers[0].id)
        assert (record.policy, record.reason, record.retries) == ("expected-ttft", "only_candidate", 0)
        assert record.prompt_bytes >= len(LONG)
        assert record.ttft_s is not None
        assert 0 < record.overhead_s < record.ttft_s <= record.duration_s
        assert record.expected_cached_tokens == record.best_fleet_tokens
        assert record.expected_cached_tokens
        assert len({each.request_id for each in gateway.records}) == 2


async def test_request_ids() -> None:
    """Ours is new for each request and in the response; the client's own goes to the engine and comes back, once."""
    for theirs in ([], ["x-request-id: r1"]):
        async with FakeEngine(whole(b"{}", headers=theirs)) as engine, running(engine) as gateway:
            async with gateway.post(CHAT, chat(), x_request_id="r1") as response:
                assert response.headers.getall("x-request-id") == ["r1"]
            assert dict(engine.received[0].headers)["x-request-id"] == "r1"
            assert response.headers["x-prefixgate-request-id"] == (await gateway.last_record()).request_id
            async with gateway.post(CHAT, b"{", x_request_id="r2") as response:
                assert response.headers.getall("x-request-id") == ["r2"]
