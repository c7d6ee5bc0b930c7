"""Engines in virtual time of which the bottleneck is known, as each resource was doubled and the gain measured.

Nothing of a set-up reaches `diagnose` but the text of /metrics at two moments and the gauges between.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import count
from math import inf
from random import Random

from engine_adapter.engine_model import EngineModel
from engine_adapter.engine_request import EngineConfig, EngineRequest
from engine_adapter.engine_timing import Timing
from engine_adapter.simulated_histograms import PREFILL, Histograms
from engine_adapter.simulated_status import Totals, metrics
from prefix.radix import token_key

LABELS = 'engine_type="unified",model_name="m"'


@dataclass(frozen=True)
class Asked:
    """One request: when it comes, the group whose prefix it shares, lengths in tokens, the output it may have."""

    arrival_s: float
    group: int
    shared: int
    prompt: int
    output: int
    allowed: int


@dataclass(frozen=True)
class Run:
    """What was exported, and what nobody exports: the mean time of a request."""

    pages: list[str]
    seconds: float
    mean_s: float


@dataclass(frozen=True)
class Planted:
    """A set-up. around_s: seconds that the gateway and the network add to every request."""

    kind: str
    config: EngineConfig
    asked: tuple[Asked, ...]
    around_s: Mapping[str, float]


def serve(config: EngineConfig, asked: tuple[Asked, ...], *, look_every_s: float = 2.0) -> Run:
    """Let the engine serve them; look at it once in a while."""
    engine, totals, histograms, fresh = EngineModel(config), Totals(), Histograms(), count(1 << 20)
    requests = [_request(one, config, fresh) for one in asked]
    came = {request: one.arrival_s for request, one in zip(requests, asked, strict=True)}
    scheduled: dict[EngineRequest, float] = {}
    first: dict[EngineRequest, float] = {}
    pages, now, nxt, begun, look, total, seen_s = [], 0.0, 0, 0, 0.0, 0.0, 0.0

    def page() -> str:
        return metrics("m", [engine], totals) + histograms.page(LABELS)

    while nxt < len(asked) or engine.busy:
        if not engine.busy:
            now = max(now, asked[nxt].arrival_s)
        while nxt < len(asked) and asked[nxt].arrival_s <= now:
            engine.submit(requests[nxt])
            nxt += 1
        if look <= now and now <= asked[-1].arrival_s:
            pages.append(page())
            seen_s = now
            look = now + look_every_s
        step = engine.step(min((asked[nxt].arrival_s if nxt < len(asked) else inf) - now, look_every_s))
        if step is None:
            continue
        while begun < nxt and requests[begun] not in engine.waiting:
            scheduled[requests[begun]] = now
            histograms.observe("queue_time_seconds", now - came[requests[begun]])
            begun += 1
        now += step.seconds
        for request, produced, finished in step.reports:
            if request not in first:
                first[request] = now
                histograms.observe("time_to_first_token_seconds", now - came[request])
                histograms.observe(PREFILL, now - scheduled[request])
            if finished:
                total += now - came[request]
                totals.count(request, produced)
                if produced > 1:
                    per_token = (now - first[request]) / (produced - 1)
                    histograms.observe("request_time_per_output_token_seconds", per_token)
                histograms.observe("e2e_request_latency_seconds", now - came[request])
                histograms.observe("prompt_tokens_histogram", request.prompt_tokens)
                histograms.observe("generation_tokens_histogram", produced)
    return Run(pages, seen_s, total / len(asked))


def _request(one: Asked, config: EngineConfig, fresh: "count[int]") -> EngineRequest:
    shared = range(one.group * 10_000, one.group * 10_000 + one.shared)
    own = one.prompt + one.output - one.shared
    return EngineRequest(
        key=token_key([*shared, *(next(fresh) for _ in range(own))]),
        prompt_tokens=one.prompt,
        output_tokens=one.output,
        max_output_tokens=one.allowed,
        report_every=0,
    )


def gains(planted: Planted) -> dict[str, float]:
    """Share of a request's mean time that doubling each resource saves, by doing it."""
    config, timing = planted.config, planted.config.timing
    faster = replace(
        timing, prefill_tokens_per_s=2 * timing.prefill_tokens_per_s, prefill_step_s=timing.prefill_step_s / 2
    )
    wider = replace(
        timing,
        decode_step_s=timing.decode_step_s / 2,
        decode_request_s=timing.decode_request_s / 2,
        decode_token_s=timing.decode_token_s / 2,
    )
    doubled = {
        "prefill": replace(config, timing=faster),
        "decode": replace(config, timing=wider),
        "kv-memory": replace(config, kv_capacity_tokens=2 * config.kv_capacity_tokens),
        "queue": replace(config, max_running=2 * config.max_running),
    }
    around = sum(planted.around_s.values())
    before = serve(config, planted.asked).mean_s
    saved = {name: before - serve(each, planted.asked).mean_s for name, each in doubled.items()}
    saved |= {name: seconds / 2 for name, seconds in planted.around_s.items()}
    return {name: each / (before + around) for name, each in saved.items()}


def truth(found: Mapping[str, float]) -> set[str]:
    """The best, and the second where it is within 20 %."""
    best, second = sorted(found, key=lambda name: -found[name])[:2]
    return {best, second} if found[second] >= 0.8 * found[best] else {best}


def _timing(random: Random) -> Timing:
    """Engines between a small and a large model, every constant for itself."""
    size = random.uniform(0.5, 2.0)
    return Timing(
        prefill_tokens_per_s=16_000 / size * random.uniform(0.6, 1.6),
        attention_tokens=random.uniform(20_000, 60_000),
        prefill_step_s=random.uniform(0.005, 0.02),
        decode_step_s=0.010 * size * random.uniform(0.7, 1.4),
        decode_request_s=random.uniform(30e-6, 80e-6),
        decode_token_s=random.uniform(30e-9, 60e-9),
    )


def plant(kind: str, seed: int, requests: int = 400) -> Planted:
    """A set-up meant to be of this kind; whether it is, `gains` tells."""
    random = Random(f"{kind} {seed}")
    timing = _timing(random)
    prompt, output = {
        "prefill": (random.uniform(3_000, 9_000), random.uniform(10, 40)),
        "decode": (random.uniform(200, 1_000), random.uniform(150, 500)),
        "kv-memory": (random.uniform(1_500, 4_000), random.uniform(100, 300)),
        "queue": (random.uniform(300, 1_000), random.uniform(100, 300)),
        "gateway": (random.uniform(300, 1_000), random.uniform(20, 60)),
        "network": (random.uniform(300, 1_000), random.uniform(20, 60)),
    }[kind]
    hit = random.uniform(0.0, 0.5)
    prefill_s = prompt * (1 - hit) / timing.prefill_tokens_per_s + timing.prefill_step_s
    step_s = timing.decode_step_s + 16 * timing.decode_request_s + 16 * prompt * timing.decode_token_s
    alone_s = prefill_s + output * step_s
    config = EngineConfig(timing=timing, kv_capacity_tokens=400_000, page_tokens=random.choice((1, 16)))
    rate = random.uniform(0.3, 0.75) / prefill_s
    if kind == "decode":
        rate = min(0.15 / prefill_s, random.uniform(4, 24) / alone_s)
    elif kind == "queue":
        slots = random.randint(4, 16)
        config, rate = replace(config, max_running=slots), random.uniform(0.95, 1.5) * slots / alone_s
    elif kind == "kv-memory":
        slots = random.uniform(5, 14)
        capacity = int(slots * (prompt + output))
        config, rate = replace(config, kv_capacity_tokens=capacity), random.uniform(0.95, 1.5) * slots / alone_s
    elif kind in ("gateway", "network"):
        rate = 0.2 / prefill_s
    around = {"gateway": random.uniform(0.001, 0.004), "network": random.uniform(0.001, 0.02)}
    if kind in around:
        around[kind] = random.uniform(1.2, 4.0) * alone_s
    return Planted(kind, config, tuple(_asked(random, config, requests, rate, prompt, output, hit)), around)


def _asked(
    random: Random, config: EngineConfig, requests: int, rate: float, prompt: float, output: float, hit: float
) -> list[Asked]:
    asked, now = [], 0.0
    groups, generous = random.randint(1, 6), random.uniform(1, 3)
    for _ in range(requests):
        now += random.expovariate(rate)
        length = min(config.input_limit // 2, max(8, int(prompt * random.lognormvariate(-0.08, 0.4))))
        answer = max(2, int(output * random.lognormvariate(-0.08, 0.4)))
        asked.append(
            Asked(now, random.randrange(groups), int(min(hit * prompt, length - 4)), length, answer,
                  int(answer * generous))
        )  # fmt: skip
    return asked
