"""What one customer can find out about another's prompts on a real SGLang: by its TTFT, and by what it is told.

The attack: A sends a prompt or does not, then B sends the same one and looks at the time to its first token and at
`cached_tokens`. The area under the ROC curve (AUC) is the chance that B tells a prompt that A sent from one that it
did not: 0.5 knows nothing, 1 knows everything.
"""

import random
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import pytest

from gateway.config import CustomerConfig
from gateway.credentials import ISOLATION_SECRET
from gateway.identity import new_key
from prefix.trace import block_text
from tests.gateway.running import CHAT, Running, running
from tests.integration.engines import TINY, Engines

pytestmark = pytest.mark.engines

TRIALS = 100
"""Of each kind: 200 in all."""
PROMPT_BYTES = 5_000
SECRET = {ISOLATION_SECRET: "a secret that every replica knows"}


class Trial(NamedTuple):
    """What B saw. sent: whether A had sent the prompt."""

    sent: bool
    ttft_s: float
    cached: int


def auc(hits: Sequence[float], misses: Sequence[float]) -> float:
    """The chance that a hit is faster than a miss (Mann-Whitney)."""
    wins = sum((hit < miss) + (hit == miss) / 2 for hit in hits for miss in misses)
    return wins / (len(hits) * len(misses))


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


async def attack(gateway: Running, keys: Sequence[str], seed: str) -> list[Trial]:
    """B's trials, in an order that nobody knows."""
    order = [nth % 2 == 0 for nth in range(2 * TRIALS)]
    random.Random(seed).shuffle(order)
    trials = []
    for nth, sent in enumerate(order):
        prompt = block_text(f"{seed} {nth}", PROMPT_BYTES)
        if sent:
            await ask(gateway, keys[0], prompt)
        ttft, cached, _ = await ask(gateway, keys[1], prompt)
        trials.append(Trial(sent, ttft, cached))
    return trials


def seen(trials: Sequence[Trial]) -> float:
    """AUC on TTFT."""
    return auc([t.ttft_s for t in trials if t.sent], [t.ttft_s for t in trials if not t.sent])


async def test_nobody_can_tell_what_another_customer_asked(engines: Engines) -> None:
    """Without isolation B knows nearly always; with it B's TTFT is a coin's toss and its cached tokens never differ."""
    (engine,) = engines.take(1)
    pairs = [new_key(), new_key()]
    keys = [key for key, _ in pairs]
    customers = {name: CustomerConfig(keys=(pair[1],)) for name, pair in zip(("a", "b"), pairs, strict=True)}
    found: dict[bool, list[Trial]] = {}
    for isolate in (False, True):
        async with running(engine, environ=SECRET, customers=customers, isolate_cache=isolate) as gateway:
            found[isolate] = await attack(gateway, keys, f"isolate {isolate}")
            own, cached, tokens = await ask(gateway, keys[1], block_text("own", PROMPT_BYTES))
            again = await ask(gateway, keys[1], block_text("own", PROMPT_BYTES))
            assert again[1] == (tokens - 1) // TINY.page_size * TINY.page_size  # its own prompts are cached for it
    for isolate, trials in found.items():
        told = {sent: {t.cached for t in trials if t.sent is sent} for sent in (True, False)}
        medians = {
            sent: sorted(t.ttft_s for t in trials if t.sent is sent)[TRIALS // 2] * 1000 for sent in (True, False)
        }
        print(
            f"\nisolate_cache {isolate}: {len(trials)} trials, {tokens} tokens, AUC on TTFT {seen(trials):.3f}, "
            f"median TTFT {medians[True]:.0f} ms when A had sent it, {medians[False]:.0f} ms when not; "
            f"cached_tokens {told[True]} and {told[False]}"
        )
    assert own > 0
    assert cached <= TINY.page_size * 4
    assert tokens >= 600
    assert seen(found[False]) >= 0.9
    assert seen(found[True]) <= 0.6
    assert len({t.cached for t in found[True]}) == 1
    assert {t.cached for t in found[False] if t.sent}.isdisjoint({t.cached for t in found[False] if not t.sent})
