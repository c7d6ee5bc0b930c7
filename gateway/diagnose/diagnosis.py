"""From evidence to everything that is said of it. Pure: the same evidence gives the same diagnosis."""

from typing import Final

import msgspec

from engine_adapter.engine_timing import PROFILES
from gateway.diagnose.evidence import Evidence, Missing
from gateway.diagnose.fit import fit
from gateway.diagnose.hardware import Hardware
from gateway.diagnose.levers import Lever, levers
from gateway.diagnose.twin import Phases
from gateway.diagnose.verdict import Verdict, judge

NOT_SEEN: Final = "gateway and network were not seen, so not judged: point --url at the gateway"
NO_HARDWARE: Final = "no model and GPU given: how prompt and context lengths count is as in Llama-3-8B on one H100"


class Arithmetic(msgspec.Struct, frozen=True):
    """What the model and GPU description says. Tokens a second of prefill at best; seconds of a decode step at best
    with the observed batch; share of that step that is weights; KV bytes per token; tokens that the memory has room
    for, and tokens that the observed batch needs."""

    prefill_tokens_per_s: float
    decode_step_s: float
    weights_share: float
    kv_token_bytes: float
    kv_room_tokens: float
    kv_need_tokens: float


class Diagnosis(msgspec.Struct, frozen=True):
    """verdict: None when there is not enough data; `missing` then says what lacks."""

    verdict: Verdict | None
    missing: Missing | None = None
    evidence: Evidence | None = None
    replay: Phases | None = None
    arithmetic: Arithmetic | None = None
    levers: tuple[Lever, ...] = ()
    notes: tuple[str, ...] = ()


def diagnose(found: Evidence | Missing, hardware: Hardware | None) -> Diagnosis:
    """The diagnosis of a window."""
    if isinstance(found, Missing):
        return Diagnosis(None, missing=found)
    fitted = fit(found, hardware.timing() if hardware else PROFILES["8b"])
    verdict = judge(found, fitted)
    return Diagnosis(
        verdict,
        evidence=found,
        replay=fitted.phases,
        arithmetic=arithmetic(found, hardware) if hardware else None,
        levers=levers(found, fitted, verdict),
        notes=tuple(_notes(found, hardware)),
    )


def arithmetic(evidence: Evidence, hardware: Hardware) -> Arithmetic:
    """Prefill compute against decode bandwidth, KV need against room."""
    timing, batch = hardware.timing(), evidence.running / evidence.setup.engines
    context = batch * (evidence.prompts.mean + evidence.outputs.mean / 2)
    step_s = timing.decode_step_s + timing.decode_token_s * context
    return Arithmetic(
        prefill_tokens_per_s=timing.prefill_tokens_per_s,
        decode_step_s=step_s,
        weights_share=timing.decode_step_s / step_s,
        kv_token_bytes=hardware.model.kv_token_bytes,
        kv_room_tokens=hardware.kv_room_tokens(),
        kv_need_tokens=context,
    )


def _notes(evidence: Evidence, hardware: Hardware | None) -> list[str]:
    notes = [] if hardware else [NO_HARDWARE]
    if evidence.around.gateway_s is None:
        notes.append(NOT_SEEN)
    if evidence.retracted:
        notes.append(f"{evidence.retracted:.0f} requests were retracted: KV memory ran out while they decoded")
    if evidence.evicted_tokens:
        notes.append(
            f"{evidence.evicted_tokens:,.0f} tokens were evicted: how many of them would have been hit is not in "
            "/metrics, so what more KV gains by hits is not in the figures"
        )
    if evidence.setup.max_running is None:
        notes.append("the engine did not say how many requests may run: taken as without limit")
    if evidence.ttft_p99_s > 4 * evidence.ttft_s:
        notes.append(
            f"TTFT p99 is {evidence.ttft_p99_s / evidence.ttft_s:.0f} times its mean: the verdict is about the mean"
        )
    return notes
