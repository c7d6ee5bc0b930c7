"""What canonical prompts buy on a real SGLang: cached tokens, with the level on and off."""

import json
import os
import subprocess
import sys
from typing import Any

import msgspec
import pytest

from gateway.config import RouteConfig
from tests.gateway.running import CHAT, Running, running, sums
from tests.integration.engines import TINY, Engines

pytestmark = pytest.mark.engines

RULES = "Follow the refund policy, be brief, quote order numbers exactly, never promise a date. " * 24

CLIENT = """
import json, random, sys
names = {"lookup_order", "refund_order", "search_catalogue", "escalate", "send_mail", "close_ticket"}
rng = random.Random(int(sys.argv[1]))
def schema():
    words = {"type": "object", "description": "What it needs.", "required": ["id", "why"], "properties": {
        "id": {"type": "string", "description": "The number."}, "why": {"description": "Why.", "type": "string"}}}
    keys = list(words)
    rng.shuffle(keys)
    rng.shuffle(words["required"])
    return {key: words[key] for key in keys}
tools = [{"type": "function", "function": {"name": n, "description": n * 8, "parameters": schema()}} for n in names]
rng.shuffle(tools)
print(json.dumps({"model": "tiny", "max_tokens": 1, "temperature": 0, "tools": tools,
                  "messages": [{"role": "user", "content": "Where is my parcel?"}]}))
"""
"""A client process of its own: it holds its tools in a set and writes its schemas as they come."""


def body_of_client(seed: int) -> bytes:
    """What one client process sends."""
    environment = os.environ | {"PYTHONHASHSEED": str(seed)}
    run = [sys.executable, "-c", CLIENT, str(seed)]
    return subprocess.run(run, env=environment, capture_output=True, check=True).stdout


async def cached_of(gateway: Running, body: bytes) -> tuple[int, int]:
    """(cached, prompt) tokens the engine reports for a chat request."""
    status, answer = await gateway.ask(CHAT, body)
    assert status == 200, answer
    usage: dict[str, Any] = json.loads(answer)["usage"]
    return usage["prompt_tokens_details"]["cached_tokens"], usage["prompt_tokens"]


@pytest.mark.parametrize("level", ["safe", "off"])
async def test_clients_with_the_same_tools_share_the_prefix_only_when_it_is_canonical(
    engines: Engines, level: str
) -> None:
    """Tool order, keyword order and process: at `safe` the second client hits like a repeat, at `off` it does not."""
    first, second = body_of_client(1), body_of_client(2)
    assert first != second
    (engine,) = engines.take(1)
    async with running(engine, level=level) as gateway:
        cold, prompt = await cached_of(gateway, first)
        other, _ = await cached_of(gateway, second)
        repeat, _ = await cached_of(gateway, second)
    print(
        f"level {level}: {prompt} prompt tokens; cached {cold} cold, {other} for the other client, {repeat} repeated"
    )
    whole_pages = (prompt - 1) // TINY.page_size * TINY.page_size
    assert cold < prompt // 4
    assert repeat == whole_pages
    assert (other == whole_pages) if level == "safe" else (other < whole_pages // 2)


def turn_body(turn: int, answers: list[str]) -> bytes:
    """Turn `turn` of a support conversation whose system prompt opens with a clock to the second."""
    system = f"Current time: 2026-11-30 09:14:{turn:02}\n{RULES}"
    messages = [{"role": "system", "content": system}]
    for nth, answer in enumerate(answers):
        messages += [{"role": "user", "content": question(nth)}, {"role": "assistant", "content": answer}]
    messages.append({"role": "user", "content": question(turn)})
    return json.dumps({"model": "tiny", "max_tokens": 8, "temperature": 0, "messages": messages}).encode()


def question(turn: int) -> str:
    """What the user asks."""
    return f"Question {turn}: what happens when the parcel with number {1000 + turn} does not arrive in time?"


HOISTS: dict[str, dict[str, Any]] = {
    "off": {"level": "off"},
    "report": {"level": "hoist", "hoist": {"mode": "report", "kinds": ["clock_second"]}},
    "rewrite": {"level": "hoist", "hoist": {"mode": "rewrite", "kinds": ["clock_second"]}},
}
TURNS = 10


async def test_a_clock_in_the_system_prompt_costs_the_cache_until_it_is_hoisted(engines: Engines) -> None:
    """Ten turns with a clock to the second: nothing is shared with off and report, nearly all with rewrite."""
    cached: dict[str, int] = {}
    saved: dict[str, float] = {}
    prompt_tokens = 0
    for mode, route in HOISTS.items():
        (engine,) = engines.take(1)
        routes = msgspec.convert({"support": route}, dict[str, RouteConfig])
        async with running(engine, routes=routes) as gateway:
            answers: list[str] = []
            cached[mode] = prompt_tokens = 0
            for turn in range(TURNS):
                status, answer = await gateway.ask(CHAT, turn_body(turn, answers), x_prefixgate_route="support")
                assert status == 200, answer
                told = json.loads(answer)
                answers.append(told["choices"][0]["message"]["content"] or "-")
                cached[mode] += told["usage"]["prompt_tokens_details"]["cached_tokens"]
                prompt_tokens += told["usage"]["prompt_tokens"]
            await gateway.last_record()
            metrics = await gateway.metrics()
        saved[mode] = sums(metrics, "prefixgate_hoist_saved_tokens_total", route="support")
        print(
            f"{mode:8} cached {cached[mode]:>6} of {prompt_tokens} tokens, {TURNS} turns, estimate {saved[mode]:.0f}"
        )
    assert cached["report"] == cached["off"], "a report changes nothing"
    assert cached["rewrite"] > 0.6 * prompt_tokens
    assert cached["off"] < 0.1 * prompt_tokens
    assert saved["off"] == 0
    assert 0.5 < saved["report"] / (cached["rewrite"] - cached["report"]) < 2
