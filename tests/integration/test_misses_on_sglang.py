"""Every uncached token of a real SGLang engine with too small a cache has its reason; `evicted` is what that cost."""

import json
from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from examples.real_sglang_cpu.engine_process import EngineProcess, Options
from prefix.record import RequestRecord
from prefix.trace import block_text
from tests.gateway.running import CHAT, running
from tests.integration.engines import TINY, Engines
from tests.integration.test_gateway_on_sglang import engine_counters

pytestmark = pytest.mark.engines

REQUESTS = 210
DOCUMENTS = 25
SMALL = replace(TINY, kv_tokens=2048, context_length=2040)


def traffic() -> list[dict[str, Any]]:
    """Questions about one of many documents, behind the same rules; one in four goes on with the talk before."""
    chance = Random(1)
    talks: list[list[dict[str, str]]] = []
    for number in range(REQUESTS):
        question = {"role": "user", "content": block_text(f"question {number}", 60)}
        if talks and chance.random() < 0.25:
            talks.append([*talks[-1], {"role": "assistant", "content": block_text(f"answer {number}", 40)}, question])
            talks[-1] = talks[-1][:2] + talks[-1][-5:]
        else:
            document = block_text(f"document {chance.randrange(DOCUMENTS)}", 500)
            talks.append([{"role": "system", "content": block_text("rules", 600)}, {**question, "content": document}])
            talks[-1].append({"role": "assistant", "content": "Yes."})
            talks[-1].append(question)
    return [{"model": "tiny", "max_tokens": 2, "temperature": 0, "messages": messages} for messages in talks]


async def served(engines: Engines, options: Options) -> list[RequestRecord]:
    """One request after the other through a gateway; each one's reasons add up to what its engine computed."""
    (engine,) = engines.take(1, options)
    before = engine_counters(engine)
    async with running(engine) as gateway:
        for body in traffic():
            status, answer = await gateway.ask(CHAT, body)
            assert status == 200
            usage = json.loads(answer)["usage"]
            cached = (usage["prompt_tokens_details"] or {}).get("cached_tokens", 0)
            record = await gateway.last_record()
            assert record.uncached_by_reason is not None
            assert sum(record.uncached_by_reason.values()) == usage["prompt_tokens"] - cached
        records = list(gateway.records)
    assert _counted(records) == _grown(engine, before)
    return records


def _counted(records: list[RequestRecord]) -> tuple[int, int]:
    """Prompt tokens, and those that no reason says were computed."""
    tokens = sum(record.input_tokens or 0 for record in records)
    return tokens, tokens - total(records).total()


def _grown(engine: EngineProcess, before: tuple[int, int]) -> tuple[int, int]:
    """Prompt and cached tokens that the engine has counted since."""
    now = engine_counters(engine)
    return now[0] - before[0], now[1] - before[1]


def total(records: list[RequestRecord]) -> Counter[str]:
    """Uncached tokens by reason."""
    sums: Counter[str] = Counter()
    for record in records:
        sums.update({str(reason): count for reason, count in (record.uncached_by_reason or {}).items()})
    return sums


async def test_evicted_is_what_a_cache_too_small_costs(engines: Engines) -> None:
    """Sums exact on every request; `evicted` within 5 % of what the same traffic saves on a large cache."""
    small, large = await served(engines, SMALL), await served(engines, TINY)
    here, there = total(small), total(large)
    cost = here.total() - there.total()
    print(f"\n{REQUESTS} requests, KV cache of {SMALL.kv_tokens} tokens: {dict(here)}")
    print(f"of {TINY.kv_tokens} tokens: {dict(there)}; it saves {cost}")
    assert [record.input_tokens for record in small] == [record.input_tokens for record in large]
    assert there["evicted"] == 0
    assert cost > 0.1 * here.total()
    assert abs(here["evicted"] - cost) < 0.05 * cost
