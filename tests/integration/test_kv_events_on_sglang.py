"""KV events of a real SGLang with so small a cache that it evicts: what the gateway expects is what is delivered."""

import random
from dataclasses import replace
from typing import Any

import pytest

from gateway.kv_settings import KvEventsConfig, PromptFiles
from tests.gateway.running import AnEngine, Running, running, until
from tests.integration.engines import HOME, TINY, Engines

pytestmark = pytest.mark.engines

SMALL = replace(TINY, kv_tokens=2048)
EVENTS = KvEventsConfig(enabled=True, models={"tiny": PromptFiles(str(HOME / "tiny"))})
REQUESTS, WARM_UP = 320, 20
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
WORDS = "cache page token prefix block engine router gateway event memory prompt worker".split()


def state(gateway: Running) -> str | None:
    """Why the only worker is not exact, None when it is."""
    section = gateway.app.kv_feeds.describe(gateway.workers[0])
    return None if section["state"] == "exact" else str(section["reason"])


async def replay(gateway: Running, count: int) -> tuple[int, int, list[tuple[int, int]]]:
    """Conversations over a few system prompts, turn by turn in no order; how often expected was delivered, of how
    many, and the others."""
    lots = random.Random(11)

    def words(count: int) -> str:
        return " ".join(lots.choice(WORDS) for _ in range(count))

    systems = [f"You are number {n}.\n{words(90)}" for n in range(4)]
    talks: list[list[dict[str, Any]]] = []
    for _ in range(count):
        if len(talks) < 6 or lots.random() < 0.15:
            talks.append([{"role": "system", "content": lots.choice(systems)}])
        talk = lots.choice(talks)
        talk.append({"role": "user", "content": words(lots.randrange(4, 60))})
        body = {"model": "tiny", "messages": talk, "max_tokens": 12, "temperature": 0}
        if talk[0]["content"].startswith("You are number 1"):
            body["tools"] = [TOOL]
        if talk[0]["content"].startswith("You are number 2"):
            body["cache_salt"] = "salted"
        async with gateway.post("/v1/chat/completions", body) as response:
            assert response.status == 200, await response.text()
            answer = (await response.json())["choices"][0]["message"]["content"]
        talk.append({"role": "assistant", "content": answer or ""})
        if len(talk) > 9:
            talks.remove(talk)
        await until(gateway.settled)
    pairs = [
        (record.expected_cached_tokens or 0, record.cached_tokens or 0)
        for record in gateway.records[-count:][WARM_UP:]
    ]
    return sum(a == b for a, b in pairs), len(pairs), [(a, b) for a, b in pairs if a != b]


async def exactly(engine: AnEngine) -> None:
    """The promise, for any engine of that size."""
    async with running(engine) as gateway:
        right, all_of, others = await replay(gateway, REQUESTS)
        near = right + sum(abs(a - b) <= 2 * SMALL.page_size for a, b in others)
        print(f"predicted: {right} of {all_of} requests to the token, {near / all_of:.1%} to two pages")
    async with running(engine, kv_events=EVENTS) as gateway:
        await until(lambda: state(gateway) is None or "held before" in str(state(gateway)))
        assert (await gateway.ask("/v1/completions", {"model": "tiny", "prompt": "x", "max_tokens": 1}))[0] == 200
        right, all_of, wrong = await replay(gateway, REQUESTS)
        print(f"by KV events: {right} of {all_of} requests to the token ({right / all_of:.1%}); others: {wrong}")
        section = gateway.app.kv_feeds.describe(gateway.workers[0])
        print(section)
        assert right >= 0.99 * all_of
        assert section["state"] == "exact"


async def test_expected_is_delivered(engines: Engines) -> None:
    """On 300 requests and more over a cache that evicts: to the token for 99 % of them by events."""
    (engine,) = engines.take(1, SMALL)
    await exactly(engine)
