"""Which resource bounds the workload: the one whose doubling would shorten requests most.

One idea: "bound by X" means that more of X helps, so X is doubled in the twin, one resource after the other, and the
gain is what a request's mean time would lose. The time around the engine needs no twin: half of it is the gain.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final, Literal

import msgspec

from gateway.diagnose.evidence import LEAST_REQUESTS, Evidence
from gateway.diagnose.fit import Fitted, scaled
from gateway.diagnose.twin import Twin

Resource = Literal["prefill", "decode", "kv-memory", "queue", "gateway", "network"]
Confidence = Literal["high", "medium", "low"]

WITHIN: Final = 0.2
"""A second resource whose gain is less than this below the first one's is named with it."""

_SOUND, _ROUGH = 0.1, 0.3


class Verdict(msgspec.Struct, frozen=True):
    """bound: one resource or two, the stronger first. gains: share of a request's mean time that doubling each would
    save, largest first. why: what the confidence rests on."""

    bound: tuple[Resource, ...]
    gains: Mapping[Resource, float]
    confidence: Confidence
    why: tuple[str, ...]


def double_prefill(twin: Twin) -> Twin:
    """Prompts are computed twice as fast."""
    return twin.with_timing(scaled(twin.config.timing, prefill=0.5))


def double_decode(twin: Twin) -> Twin:
    """A decode step takes half the time."""
    return twin.with_timing(scaled(twin.config.timing, decode=0.5))


def double_kv(twin: Twin) -> Twin:
    """Room for twice as many tokens."""
    config = replace(twin.config, kv_capacity_tokens=2 * twin.config.kv_capacity_tokens)
    return msgspec.structs.replace(twin, config=config)


def double_running(twin: Twin) -> Twin:
    """Twice as many requests may run."""
    return msgspec.structs.replace(twin, config=replace(twin.config, max_running=2 * twin.config.max_running))


DOUBLED: Final[Mapping[Resource, Callable[[Twin], Twin]]] = MappingProxyType(
    {"prefill": double_prefill, "decode": double_decode, "kv-memory": double_kv, "queue": double_running}
)


def gain(evidence: Evidence, fitted: Fitted, changed: Twin) -> float:
    """Share of a request's mean time, all around it included, that a changed twin saves."""
    before = max(1e-9, fitted.phases.whole_s)
    return (before - changed.phases().whole_s) / before * evidence.engine_s / evidence.total_s


def judge(evidence: Evidence, fitted: Fitted) -> Verdict:
    """The verdict on a window."""
    gains: dict[Resource, float] = {
        name: gain(evidence, fitted, change(fitted.twin)) for name, change in DOUBLED.items()
    }
    around = evidence.around
    if around.gateway_s is not None:
        gains["gateway"] = around.gateway_s / 2 / evidence.total_s
    if around.network_s is not None:
        gains["network"] = around.network_s / 2 / evidence.total_s
    ranked: list[Resource] = sorted(gains, key=lambda name: -gains[name])
    best, second = ranked[0], ranked[1]
    pair = gains[second] > 0 and gains[second] >= (1 - WITHIN) * gains[best]
    confidence, why = _confidence(evidence, fitted)
    bound = (best, second) if pair else (best,)
    return Verdict(bound, {name: gains[name] for name in ranked}, confidence, why)


def _confidence(evidence: Evidence, fitted: Fitted) -> tuple[Confidence, tuple[str, ...]]:
    error, requests = fitted.error, evidence.requests
    why = [f"the replay is within {error:.0%} of the observed phases", f"{requests:,} requests"]
    if error > _ROUGH:
        return "low", tuple(why)
    if error > _SOUND or requests < 3 * LEAST_REQUESTS:
        return "medium", tuple(why)
    return "high", tuple(why)
