"""What to do, in order: what helps the bound resource first, then by what the twin says it would gain.

One idea: a lever is a change of the twin, so its expected gain is a replay. Where no replay can know the effect
(which drafts a model accepts, which prompts could share a prefix) the gain is not estimated. Flags are SGLang's.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import msgspec

from gateway.diagnose.evidence import Evidence
from gateway.diagnose.fit import Fitted, scaled
from gateway.diagnose.twin import Twin
from gateway.diagnose.verdict import Resource, Verdict, double_kv, double_running, gain

COMPARE: Final = "prefixgate bench --url BEFORE --compare AFTER --trace captures/ --duration 240s"
QUALITY: Final = "prefixgate eval --before BEFORE --after AFTER"


_AROUND: Final = ("gateway", "network")
_LARGE: Final = 0.5
"""Of the gain of doubling the bound resource: a lever that is expected to gain as much stands with those for it."""


class Lever(msgspec.Struct, frozen=True):
    """helps: resources that it relieves. flags: what to set. gain: share of a request's mean time that it is expected
    to save, None: not estimated. note: on what that rests. verify: commands that show it."""

    name: str
    helps: tuple[Resource, ...]
    flags: str
    gain: float | None
    note: str
    verify: str


class _Kind(msgspec.Struct, frozen=True):
    name: str
    helps: tuple[Resource, ...]
    flags: str
    change: Callable[[Twin], Twin] | None
    note: str
    verify: str = COMPARE


def _half_hit(twin: Twin) -> Twin:
    asks = tuple(msgspec.structs.replace(ask, shared=(ask.shared + ask.prompt_tokens) // 2) for ask in twin.asks)
    return msgspec.structs.replace(twin, asks=asks)


def _fp8_kv(twin: Twin) -> Twin:
    timing = twin.config.timing
    return double_kv(twin).with_timing(replace(timing, decode_token_s=timing.decode_token_s / 2))


def _fp8_weights(twin: Twin) -> Twin:
    timing = twin.config.timing
    return twin.with_timing(replace(timing, decode_step_s=timing.decode_step_s / 2))


def _half_chunk(twin: Twin) -> Twin:
    return msgspec.structs.replace(twin, config=replace(twin.config, chunk_tokens=twin.config.chunk_tokens // 2))


def _twice_tp(twin: Twin) -> Twin:
    return double_kv(twin).with_timing(scaled(twin.config.timing, prefill=0.5, decode=0.5))


def _twice_replicas(twin: Twin) -> Twin:
    asks = tuple(msgspec.structs.replace(ask, arrival_s=2 * ask.arrival_s) for ask in twin.asks)
    return msgspec.structs.replace(twin, asks=asks)


_KINDS: Final = (
    _Kind("prefix fixes", ("prefill", "kv-memory"), "prefixgate lint captures/; level: safe", _half_hit,
          "if half of the uncached prompt tokens were cached"),
    _Kind("affinity", ("prefill",), "policy: expected-ttft (gateway), one gateway before all replicas", None,
          "needs several engines and the gateway's reasons of uncached tokens"),
    _Kind("more requests at a time", ("queue",), "--max-running-requests, twice as many", double_running,
          "a larger batch also decodes slower, which is counted"),
    _Kind("FP8 KV cache", ("kv-memory", "decode"), "--kv-cache-dtype fp8_e5m2", _fp8_kv,
          "twice the tokens in the same memory, half the bytes per token", f"{QUALITY}; {COMPARE}"),
    _Kind("larger KV pool", ("kv-memory",), "--mem-fraction-static, higher", None, "free memory is unknown"),
    _Kind("HiCache", ("kv-memory", "prefill"), "--enable-hierarchical-cache --hicache-ratio 2", None,
          "depends on which evicted prefixes come again"),
    _Kind("quantized weights", ("decode",), "--quantization fp8", _fp8_weights,
          "half the weight bytes a decode step; prefill counted as before", f"{QUALITY}; {COMPARE}"),
    _Kind("speculative decoding", ("decode",), "--speculative-algorithm EAGLE --speculative-num-steps 3", None,
          "depends on the accepted length of your traffic", f"{QUALITY} --equal; {COMPARE}"),
    _Kind("smaller prefill chunks", ("decode",), "--chunked-prefill-size, half", _half_chunk,
          "on the mean; what it is for is the tail of ITL"),
    _Kind("smaller model for simple requests", ("prefill", "decode", "kv-memory", "queue"),
          "a second model behind the gateway", None, "depends on how many are simple", f"{QUALITY}; {COMPARE}"),
    _Kind("tensor parallelism", ("prefill", "decode", "kv-memory"), "--tp-size, twice as many", _twice_tp,
          "an upper bound: communication is not counted"),
    _Kind("more replicas", ("queue", "prefill", "kv-memory", "decode"), "twice as many --engine", _twice_replicas,
          "at the same hit rate, which affinity must keep"),
    _Kind("more gateway processes", ("gateway",), "prefixgate serve --processes N; look for a queue limit", None,
          "at most: all of what the gateway takes"),
    _Kind("shorter way", ("network",), "gateway and engines in one zone; keep-alive; no proxy between", None,
          "at most: all of what the network takes"),
)  # fmt: skip


def levers(evidence: Evidence, fitted: Fitted, verdict: Verdict) -> tuple[Lever, ...]:
    """All that could help, those for the bound resources first; among these by their expected gain, the ones that
    are not estimated after them, and last what a replay says gains nothing."""
    found = [_lever(kind, evidence, fitted, verdict) for kind in _KINDS if _applies(kind, verdict.gains)]
    return tuple(sorted(found, key=lambda lever: _rank(lever, verdict)))


def _applies(kind: _Kind, judged: Mapping[Resource, float]) -> bool:
    return any(resource in judged for resource in kind.helps)


def _lever(kind: _Kind, evidence: Evidence, fitted: Fitted, verdict: Verdict) -> Lever:
    expected = None if kind.change is None else gain(evidence, fitted, kind.change(fitted.twin))
    if kind.helps[0] in _AROUND:
        expected = 2 * verdict.gains[kind.helps[0]]
    note = kind.note
    if kind.name == "speculative decoding" and evidence.accepted_length:
        note = f"runs already: {evidence.accepted_length:.2f} tokens accepted a step"
    return Lever(kind.name, kind.helps, kind.flags, expected, note, kind.verify)


def _rank(lever: Lever, verdict: Verdict) -> tuple[bool, bool, bool, float]:
    helps = any(resource in lever.helps for resource in verdict.bound)
    helps = helps or (lever.gain or 0.0) >= _LARGE * max(verdict.gains.values())
    useless = lever.gain is not None and lever.gain < 0.01
    return not helps, useless, lever.gain is None, -(lever.gain or 0.0)
