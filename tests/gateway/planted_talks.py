"""Conversations with planted faults that hit each other's tokens: one fleet, everybody's caches.

The trace is a function of the faults planted in it, and nothing else differs between two replays. Three prompt
versions (the third with tools), 12 customers with a document each, conversations of up to four turns, questions that
never come again.
"""

from collections import Counter
from collections.abc import Iterable
from random import Random
from typing import Any

from engine_adapter.engine_request import EngineConfig
from tests.cases import wire
from tests.gateway.planted import TOKEN_BYTES, Preparing, Prompt, serve

FAULTS = ("clock", "tools", "small_cache", "salt", "round_robin")
ENGINES = 3
_WORDS = (
    "the of and to in is that for it with as on be at by this have from or one had not but what all were when".split()
)


def words(size: int, *seed: object) -> str:
    """Text of this many characters, the same for the same seed."""
    chance = Random(str(seed))
    return " ".join(chance.choice(_WORDS) for _ in range(size // 2))[:size]


def traffic(faults: Iterable[str], count: int = 600, seed: int = 1) -> list[Prompt]:
    """The trace with these faults planted."""
    planted = frozenset(faults)
    chance = Random(seed)
    preparing = Preparing("off" if "tools" in planted else "safe")
    prompts: list[Prompt] = []
    now = 0.0
    while len(prompts) < count:
        now += chance.expovariate(4.0)
        version, customer, talk = chance.randrange(3), chance.randrange(12), len(prompts)
        after, arrival = None, now
        for turn in range(chance.randint(1, 4)):
            salt = str(talk % 40) if version == 0 and customer < 6 and "salt" in planted else ""
            raw = wire(_body(version, customer, talk, turn, planted))
            prompts.append(preparing.prompt(arrival, raw, salt, after))
            after, arrival = len(prompts) - 1, arrival + chance.uniform(3.0, 20.0)
    return prompts[:count]


def _body(version: int, customer: int, talk: int, turn: int, planted: frozenset[str]) -> dict[str, Any]:
    clock = f"It is 2026-11-30T{talk // 3600:02}:{talk // 60 % 60:02}:{talk % 60:02}Z turn {turn}. "
    front = clock if version == 1 and "clock" in planted else ""
    system = f"You are assistant {version}. {front}{words(4000, 'system', version)}"
    messages = [
        {"role": "system", "content": system},
        {"role": "user", "content": words(1600, "document", customer) + words(300, talk, 0)},
    ]
    for past in range(turn):
        messages += [
            {"role": "assistant", "content": words(200, "answer", talk, past)},
            {"role": "user", "content": words(300, talk, past + 1)},
        ]
    body: dict[str, Any] = {"model": "m", "messages": messages}
    if version == 2:
        body["tools"] = [_tool(number) for number in range(10)]
        if "tools" in planted:
            Random(f"{talk}.{turn}").shuffle(body["tools"])
    return body


def _tool(number: int) -> dict[str, Any]:
    function = {"name": f"tool_{number}", "description": words(300, "tool", number), "parameters": {"type": "object"}}
    return {"type": "function", "function": function}


def replay(faults: Iterable[str], *, page: int = 1, count: int = 600, seed: int = 1) -> Counter[str]:
    """Uncached tokens of the whole trace by reason; every request's sum is checked."""
    planted = frozenset(faults)
    policy = "round-robin" if "round_robin" in planted else "expected-ttft"
    capacity = 6_000 if "small_cache" in planted else 2_000_000
    config = EngineConfig(page_tokens=page, page_bytes=TOKEN_BYTES * page, kv_capacity_tokens=capacity)
    total: Counter[str] = Counter()
    for counted in serve(traffic(planted, count, seed), policy, [config] * ENGINES, page):
        total.update(counted)
    return total
