"""What one customer can find out about another's prompts on a real SGLang: by its TTFT, and by what it is told.

The attack: of ten prompts A sends five, then B sends all ten, one after the other in an order that nobody knows, and
looks at the time to the first token and at `cached_tokens`. The area under the ROC curve (AUC) is the chance that B
tells a prompt that A sent from one that it did not: 0.5 knows nothing, 0 and 1 know everything. B compares within a
round, so that a machine that is now busy and now idle hides nothing from it.
"""

import asyncio
import random
import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from statistics import median
from typing import Any, NamedTuple

import msgspec
import pytest

from gateway.apis import RESPONSES
from gateway.config import CustomerConfig
from gateway.credentials import ISOLATION_SECRET
from gateway.identity import new_key
from prefix.trace import block_text
from tests.gateway.running import CHAT, COMPLETIONS, GENERATE, Running, running
from tests.integration.engines import TINY, Engines

pytestmark = pytest.mark.engines

ROUNDS = {False: 20, True: 26}
"""Of ten trials, without and with isolation. Where nothing differs, the AUC of 260 is within 0.5 +- 0.1 but for 5 in
1,000 runs."""
TOLD = 10
PROMPT_BYTES = 2_000
SLOW = replace(TINY, kv_tokens=65536, extra=("--chunked-prefill-size", "256"))
"""A model this small computes a prompt in no time: in chunks it takes as long, beside everything else, as on a real
one. There is room for all of a round."""
SECRET = {ISOLATION_SECRET: "a secret that every replica knows"}


class Trial(NamedTuple):
    """What B saw, in which round. sent: whether A had sent the prompt."""

    nth: int
    sent: bool
    ttft_s: float
    cached: int


def auc(trials: Sequence[Trial]) -> float:
    """The chance that a prompt that A sent is answered sooner than one of its round that A did not (Mann-Whitney)."""
    pairs = [
        (hit.ttft_s < miss.ttft_s) + (hit.ttft_s == miss.ttft_s) / 2
        for hit in trials
        for miss in trials
        if hit.nth == miss.nth and hit.sent and not miss.sent
    ]
    return sum(pairs) / len(pairs)


async def ask(gateway: Running, key: str, prompt: str) -> tuple[float, int, int]:
    """Seconds to the first content, cached tokens, prompt tokens: what a client of this key sees."""
    body = {
        "model": "tiny",
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": 1,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    began, ttft, usage = time.perf_counter(), None, None
    async with gateway.post(CHAT, body, authorization=f"Bearer {key}") as response:
        assert response.status == 200, await response.read()
        async for line in response.content:
            if not line.startswith(b"data: {"):
                continue
            event: dict[str, Any] = msgspec.json.decode(line[6:])
            if ttft is None and event["choices"]:
                ttft = time.perf_counter() - began
            usage = event.get("usage") or usage
    assert ttft is not None
    assert usage is not None
    return ttft, usage["prompt_tokens_details"]["cached_tokens"], usage["prompt_tokens"]


async def attack(gateway: Running, keys: Sequence[str], rounds: int, seed: str) -> list[Trial]:
    """B's trials."""
    order = random.Random(seed)
    trials = []
    for nth in range(rounds):
        prompts = [block_text(f"{seed} {nth} {place}", PROMPT_BYTES) for place in range(TOLD)]
        sent = set(order.sample(prompts, TOLD // 2))
        await asyncio.gather(*(ask(gateway, keys[0], prompt) for prompt in sent))
        for prompt in prompts:
            ttft, cached, _ = await ask(gateway, keys[1], prompt)
            trials.append(Trial(nth, prompt in sent, ttft, cached))
    return trials


def _span(counts: Collection[int]) -> str:
    return f"{min(counts):,} to {max(counts):,}" if len(counts) > 1 else f"{min(counts):,}"


async def test_nobody_can_tell_what_another_customer_asked(engines: Engines) -> None:
    """Without isolation B knows nearly always; with it the TTFT is a coin's toss, the cached tokens never differ."""
    (engine,) = engines.take(1, SLOW)
    pairs = [new_key(), new_key()]
    keys = [key for key, _ in pairs]
    customers = {name: CustomerConfig(keys=(pair[1],)) for name, pair in zip(("a", "b"), pairs, strict=True)}
    found: dict[bool, list[Trial]] = {}
    settings: dict[str, Any] = {"customers": customers, "environ": SECRET, "poll_interval_s": 2.0}
    for isolate in (False, True):
        async with running(engine, isolate_cache=isolate, **settings) as gateway:
            found[isolate] = await attack(gateway, keys, ROUNDS[isolate], f"isolate {isolate}")
            _, cached, tokens = await ask(gateway, keys[1], block_text("own", PROMPT_BYTES))
            again = await ask(gateway, keys[1], block_text("own", PROMPT_BYTES))
            assert cached < tokens // 2
            assert again[1] == (tokens - 1) // TINY.page_size * TINY.page_size  # its own prompts are cached for it
    for isolate, trials in found.items():
        told = {sent: {t.cached for t in trials if t.sent is sent} for sent in (True, False)}
        medians = {sent: 1000 * median(t.ttft_s for t in trials if t.sent is sent) for sent in (True, False)}
        print(
            f"\nisolate_cache {isolate}: {len(trials)} trials, {tokens} tokens, AUC on TTFT {auc(trials):.3f}, "
            f"median TTFT {medians[True]:.0f} ms when A had sent it, {medians[False]:.0f} ms when not; "
            f"cached_tokens {_span(told[True])} and {_span(told[False])}"
        )
    assert tokens >= 600
    assert auc(found[False]) >= 0.9
    assert 0.4 <= auc(found[True]) <= 0.6
    assert len({t.cached for t in found[True]}) == 1
    assert {t.cached for t in found[False] if t.sent}.isdisjoint({t.cached for t in found[False] if not t.sent})


def bodies(text: str) -> dict[str, dict[str, Any]]:
    """The same prompt on every path that takes a salt."""
    common: dict[str, Any] = {"model": "tiny", "max_tokens": 1}
    return {
        CHAT: {**common, "messages": [{"role": "user", "content": text}]},
        COMPLETIONS: {**common, "prompt": text},
        RESPONSES: {"model": "tiny", "max_output_tokens": 3, "input": text},  # SGLang keeps two of them to itself
        GENERATE: {"text": text, "sampling_params": {"max_new_tokens": 1}},
    }


@pytest.mark.parametrize("path", [CHAT, COMPLETIONS, RESPONSES, GENERATE])
async def test_every_path_that_takes_a_salt_keeps_customers_apart(engines: Engines, path: str) -> None:
    """What A sent is cached for A and not for B, whatever salt B chooses itself."""
    (engine,) = engines.take(1)
    pairs = [new_key(), new_key()]
    customers = {
        name: CustomerConfig(keys=(pair[1],), allow_fields=("cache_salt",))
        for name, pair in zip(("a", "b"), pairs, strict=True)
    }
    body = bodies(block_text(f"apart {path}", PROMPT_BYTES))[path]
    async with running(engine, customers=customers, isolate_cache=True, environ=SECRET) as gateway:
        cached = []
        for (key, _), more in ((pairs[0], {}), (pairs[0], {}), (pairs[1], {}), (pairs[1], {"cache_salt": "a"})):
            status, answer = await gateway.ask(path, body | more, authorization=f"Bearer {key}")
            assert status == 200, answer
            record = await gateway.last_record()
            cached.append(record.cached_tokens)
    assert record.input_tokens is not None
    repeat = (record.input_tokens - 1) // TINY.page_size * TINY.page_size
    assert cached == [0, repeat, 0, 0]
