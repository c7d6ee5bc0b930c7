"""The gateway in front of two real SGLang engines."""

import itertools
import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import openai
import pytest

from engine_adapter.engine_request import EngineConfig
from engine_adapter.simulated import SimulatedEngine
from engine_adapter.simulated_options import EngineOptions
from examples.real_sglang_cpu.engine_process import EngineProcess, Options
from gateway.config import RouteConfig
from gateway.demo.load import Outcome, replay
from gateway.demo.tally import client_tokens, gateway_tokens, mismatches, percentile, total
from gateway.demo.workload import Workload
from tests.gateway.running import AnEngine, running
from tests.integration.engines import TINY, Engines
from tests.integration.workload import ROUTES, Model, shared_cache_hit_rate, trace_slice
from tests.sdks import anthropic_script, openai_script
from tests.sdks.processes import curl, litellm_and_langchain
from tests.sdks.transcript import Transcript, merged

pytestmark = pytest.mark.engines

PASSES = (("round-robin", "off"), ("least-load", "safe"), ("expected-ttft", "safe"))
REQUESTS, SECONDS = 150, 20.0


def engine_counters(engine: EngineProcess) -> tuple[int, int]:
    """(prompt tokens, cached tokens) an engine has counted since it started."""
    _, page = engine.request("/metrics")
    sums = [
        sum(
            float(value)
            for value in re.findall(rf"^sglang:{name}_total\{{[^}}]*\}} (\S+)$", page.decode(), re.MULTILINE)
        )
        for name in ("prompt_tokens", "cached_tokens")
    ]
    return int(sums[0]), int(sums[1])


async def one_pass(engines: list[AnEngine], policy: str, level: str, workload: Workload) -> tuple[list[Outcome], str]:
    """Replay the workload through a gateway; what the client saw, and the gateway's metrics page."""
    async with running(
        *engines, policy=policy, level=level, routes={route: RouteConfig() for route in ROUTES}
    ) as gateway:
        outcomes = await replay(workload, gateway.url, lambda _: None)
        await gateway.last_record()
        async with gateway.http.get("/metrics") as response:
            return outcomes, await response.text()


def row(name: str, outcomes: list[Outcome]) -> tuple[float, str]:
    """Hit rate, and a line of the printed table."""
    tokens = total(client_tokens(outcomes))
    hit = tokens.hit_rate
    assert hit is not None
    ttft = [o.ttft_s for o in outcomes if o.ttft_s is not None]
    p50, p99 = (1000 * (percentile(ttft, share) or 0) for share in (0.5, 0.99))
    return hit, f"{name:34} hit rate {hit:6.1%}   TTFT p50 {p50:6.0f} ms  p99 {p99:6.0f} ms"


async def test_placement_reaches_the_shared_cache_and_counts_are_the_engines(engines: Engines) -> None:
    """Affinity gets >= 90 % of what one shared cache would hit; /metrics says exactly what the engines counted."""
    model = Model.load(TINY.model)
    workload = trace_slice(REQUESTS, SECONDS, "tiny")
    bound = shared_cache_hit_rate(workload.requests, model, page=TINY.page_size)
    real: dict[str, float] = {}
    lines = []
    for policy, level in PASSES:
        pair = engines.take(2)
        before = [engine_counters(engine) for engine in pair]
        outcomes, page = await one_pass(list(pair), policy, level, workload)
        assert [o.error for o in outcomes if o.error] == []
        assert mismatches(gateway_tokens(page), client_tokens(outcomes)) == []
        counted = [engine_counters(engine) for engine in pair]
        delta = [sum(a[i] - b[i] for a, b in zip(counted, before, strict=True)) for i in (0, 1)]
        tokens = total(gateway_tokens(page))
        assert (tokens.input, tokens.cached) == (delta[0], delta[1])
        prompt_tokens = [len(model.tokens(json.loads(r.body)["messages"])) for r in workload.requests]
        assert [o.input_tokens for o in outcomes] == prompt_tokens
        real[policy], line = row(f"SGLang, {policy} + {level}", outcomes)
        lines.append(line)
    for policy, level in PASSES:
        lines.append(await _simulated(policy, level, workload))
    print(f"\n{REQUESTS} requests, 2 engines; one shared cache without limit would hit {bound:.1%}", *lines, sep="\n")
    assert real["expected-ttft"] >= 0.9 * bound
    assert real["expected-ttft"] > real["round-robin"]


async def _simulated(policy: str, level: str, workload: Workload) -> str:
    config = EngineConfig(page_tokens=TINY.page_size, kv_capacity_tokens=TINY.kv_tokens)
    async with (
        SimulatedEngine(EngineOptions(config=config, model="tiny")) as one,
        SimulatedEngine(EngineOptions(config=config, model="tiny")) as two,
    ):
        outcomes, _ = await one_pass([one, two], policy, level, workload)
    return row(f"simulated, {policy} + {level}", outcomes)[1]


async def answers(url: str) -> list[Any]:
    """What SDK code gets, whoever answers: chat and completion, streamed and not, with and without usage."""
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        messages: list[Any] = [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Tell a story."},
        ]
        common: dict[str, Any] = {"model": "tiny", "max_tokens": 24, "temperature": 0}
        chat = await client.chat.completions.create(messages=messages, **common)
        found: list[Any] = [chat.choices[0].message.content, chat.choices[0].finish_reason, _usage(chat.usage)]
        for options in ({}, {"stream_options": {"include_usage": True}}):
            parts = [
                part
                async for part in await client.chat.completions.create(
                    messages=messages, stream=True, **common, **options
                )
            ]
            found.append("".join(p.choices[0].delta.content or "" for p in parts if p.choices))
            found.append([_usage(p.usage) for p in parts if p.usage])
            found.append(sum(not p.choices for p in parts))
        text = await client.completions.create(prompt="def main(", **common)
        found += [text.choices[0].text, text.choices[0].finish_reason, _usage(text.usage)]
        parts = [p async for p in await client.completions.create(prompt="def main(", stream=True, **common)]
        found.append("".join(p.choices[0].text for p in parts if p.choices))
        found += [model.id async for model in client.models.list()]
        found.append((await client.models.retrieve("tiny")).model_dump().get("max_model_len"))
        return found


def _usage(usage: Any) -> tuple[int, int]:
    return usage.prompt_tokens, usage.completion_tokens


async def test_the_same_sdk_code_gets_the_same_answers(engines: Engines) -> None:
    """base_url is all that changes: greedy answers in float32 are equal with and without the gateway."""
    pair = engines.take(2)
    direct = await answers(pair[0].url)
    async with running(*pair) as gateway:
        for _ in range(3):
            assert await answers(gateway.url) == direct


Program = Callable[[str, str], Awaitable[Transcript]]
STORING = replace(TINY, extra=("--enable-response-store",))

PROGRAMS: dict[str, tuple[Program, Options]] = {
    "chat and completions": (openai_script.generations, TINY),
    "embeddings": (openai_script.embeddings, TINY),
    "messages": (anthropic_script.messages, TINY),
    "responses": (openai_script.responses, STORING),
    "responses, not stored": (openai_script.responses, TINY),
}


@pytest.mark.parametrize("name", PROGRAMS)
async def test_every_program_sees_the_same(engines: Engines, name: str) -> None:
    """All that the SDK scripts do, errors included: what SGLang answers reaches the program as SGLang said it."""
    program, options = PROGRAMS[name]
    alone, behind = engines.take(2, options)
    direct = await program(alone.url, "tiny")
    async with running(behind) as gateway:
        through = await program(gateway.url, "tiny")
    assert [name for name, _ in through.steps] == [name for name, _ in direct.steps]
    for one, other in zip(merged(through.steps), merged(direct.steps), strict=True):
        assert one == other
    assert "InternalServerError" not in direct.raises().values()  # answers, and refusals that were meant


async def test_programs_of_other_makes_see_the_same(engines: Engines) -> None:
    """curl, litellm (OpenAI's APIs and Anthropic's) and LangChain: what they get from SGLang, they get through us."""
    alone, behind = engines.take(2, STORING)
    async with running(behind) as gateway:
        direct, through = await litellm_and_langchain("tiny", alone.url, gateway.url)
        told, passed = await curl(alone.url, "tiny"), await curl(gateway.url, "tiny")
    assert merged(through) == merged(direct)
    assert {name: passed[name] for name in ("whole", "wrong")} == {name: told[name] for name in ("whole", "wrong")}
    assert passed["stream"].splitlines()[-1] == told["stream"].splitlines()[-1]


async def conversation(url: str, *, stream: bool) -> list[tuple[str, str]]:
    """Four turns, each naming the one before it: ids and texts."""
    turns: list[tuple[str, str]] = []
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        for said in ("Tell a story.", "Go on.", "And then?", "The end?"):
            asked: dict[str, Any] = {"model": "tiny", "input": said, "max_output_tokens": 8, "temperature": 0}
            asked["previous_response_id"] = turns[-1][0] if turns else None
            answer = await client.responses.create(stream=stream, **asked)
            if stream:
                answer = [event async for event in answer][-1].response
            turns.append((answer.id, answer.output_text))
    return turns


@pytest.mark.parametrize("stream", [False, True])
async def test_a_conversation_stays_with_the_engine_that_keeps_it(engines: Engines, stream: bool) -> None:
    """Every turn, and whatever names it, reaches the one of two engines that knows it; also through a new gateway.

    What the gateway counted of them is what the engines did.
    """
    pair = engines.take(2, STORING)
    direct = await conversation(pair[0].url, stream=stream)
    keepers, before = set(), [engine_counters(engine) for engine in pair]
    async with running(*pair, policy="round-robin") as gateway:
        for _ in range(4):
            turns = await conversation(gateway.url, stream=stream)
            assert [text for _, text in turns] == [text for _, text in direct]
            await gateway.last_record()
            workers = {record.worker for record in gateway.records[-len(turns) :]}
            assert len(workers) == 1
            keepers |= workers
        told = [(record.input_tokens or 0, record.cached_tokens or 0) for record in gateway.records]
    assert len(keepers) == 2
    delta = [sum(a[i] - b[i] for a, b in zip(map(engine_counters, pair), before, strict=True)) for i in (0, 1)]
    assert [sum(counts) for counts in zip(*told, strict=True)] == delta
    assert delta[1] > 0
    path = f"/v1/responses/{turns[-1][0]}"
    assert sorted(engine.request(path)[0] for engine in pair) == [200, 404]
    async with running(*pair, policy="round-robin") as gateway:
        for _ in range(3):
            async with gateway.http.get(path) as response:
                assert (response.status, (await response.json())["id"]) == (200, turns[-1][0])
            following = {"model": "tiny", "input": "x", "max_output_tokens": 2, "previous_response_id": turns[-1][0]}
            assert (await gateway.ask("/v1/responses", following))[0] == 200
        assert {record.worker for record in gateway.records} == workers


async def test_permutations_of_one_tool_set_get_one_answer(engines: Engines) -> None:
    """Tools in any order are one prompt to the engine: one answer, and the prefix is cached from the second on."""
    names = ("alpha", "beta", "gamma", "delta")
    tools = [
        {"type": "function", "function": {"name": n, "description": n * 20, "parameters": {"type": "object"}}}
        for n in names
    ]
    body = {"model": "tiny", "max_tokens": 16, "temperature": 0, "messages": [{"role": "user", "content": "Go on."}]}
    async with running(*engines.take(2)) as gateway:
        seen = []
        for order in itertools.islice(itertools.permutations(tools), 0, 24, 5):
            status, answer = await gateway.ask("/v1/chat/completions", {**body, "tools": list(order)})
            assert status == 200
            told = json.loads(answer)
            details = told["usage"]["prompt_tokens_details"]
            seen.append((told["choices"][0]["message"], told["usage"]["prompt_tokens"], details["cached_tokens"]))
    first = seen[0]
    assert all(message == first[0] and tokens == first[1] for message, tokens, _ in seen)
    repeat = (first[1] - 1) // TINY.page_size * TINY.page_size
    assert [cached for _, _, cached in seen[1:]] == [repeat] * (len(seen) - 1)


async def test_an_engine_without_cache_report_is_warned_of_and_not_counted(engines: Engines) -> None:
    """Its tokens are unreported, not zero hits; /workers says what to change."""
    (silent,) = engines.take(1, replace(TINY, cache_report=False))
    async with running(silent) as gateway:
        status, _ = await gateway.ask(
            "/v1/chat/completions",
            {"model": "tiny", "max_tokens": 2, "messages": [{"role": "user", "content": "Hi"}]},
        )
        assert status == 200
        await gateway.last_record()
        metrics = await gateway.metrics()
        async with gateway.http.get("/workers") as response:
            (worker,) = (await response.json())["workers"]
    assert worker["cache_report"] is False
    assert "--enable-cache-report" in worker["warning"]
    unreported = sum(v for k, v in metrics.items() if k.startswith("prefixgate_unreported_input_tokens_total"))
    counted = sum(v for k, v in metrics.items() if k.startswith("prefixgate_input_tokens_total"))
    assert unreported > 0
    assert counted == 0
