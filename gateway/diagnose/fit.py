"""The twin whose phases are those that were observed.

One idea: what is unknown of an engine's speed is two numbers, how fast it computes prompts and how fast it decodes.
Its shape (what a token of context costs against a step) comes from the model and GPU description; these two scale it
until the replay shows the observed prefill and decode times. How far the replay's queue, which is not fitted but for
what the scheduler reserves, is from the observed one tells how far the twin can be trusted.
"""

from dataclasses import replace
from typing import Final

import msgspec

from engine_adapter.engine_timing import Timing
from gateway.diagnose.evidence import Evidence
from gateway.diagnose.twin import Phases, Twin, engine_of, workload

_ROUNDS: Final = 10
_DAMPING: Final = 0.6
_CLOSE: Final = 0.05
_RESERVES: Final = (1.0, 3.0, 10.0)
_LEAST_S: Final = 1e-4
_SEED: Final = 1


class Fitted(msgspec.Struct, frozen=True):
    """error: distance of the replayed from the observed phases, as a share of the time in the engine."""

    twin: Twin
    phases: Phases
    error: float


def fit(evidence: Evidence, shape: Timing) -> Fitted:
    """The closest twin: KV is reserved for just what is generated, or for more while its queue is too short."""
    asks = workload(evidence, _SEED)
    best: Fitted | None = None
    for reserve in _RESERVES:
        found = _speeds(Twin(asks, engine_of(evidence, shape), reserve), evidence)
        if best is None or found.error < best.error:
            best = found
        if best.error < _CLOSE or best.phases.queue_s >= evidence.queue_s:
            break
    assert best is not None
    return best


def scaled(timing: Timing, *, prefill: float = 1.0, decode: float = 1.0) -> Timing:
    """An engine whose prefill and decode take so many times as long."""
    return replace(
        timing,
        prefill_tokens_per_s=timing.prefill_tokens_per_s / prefill,
        prefill_step_s=timing.prefill_step_s * prefill,
        decode_step_s=timing.decode_step_s * decode,
        decode_request_s=timing.decode_request_s * decode,
        decode_token_s=timing.decode_token_s * decode,
    )


def _speeds(twin: Twin, evidence: Evidence) -> Fitted:
    """Scale prefill and decode to what was observed; the best of a few rounds."""
    best = _tried(twin, evidence)
    current = best
    for _ in range(_ROUNDS):
        phases = current.phases
        prefill = _towards(evidence.prefill_s, phases.prefill_s)
        decode = _towards(evidence.decode_s, phases.decode_s)
        if max(abs(prefill - 1), abs(decode - 1)) < 0.02:
            break
        current = _tried(current.twin.with_timing(scaled(current.twin.config.timing, prefill=prefill, decode=decode)),
                         evidence)  # fmt: skip
        if current.error < best.error:
            best = current
    return best


def _tried(twin: Twin, evidence: Evidence) -> Fitted:
    phases = twin.phases()
    away = (
        abs(phases.queue_s - evidence.queue_s)
        + abs(phases.prefill_s - evidence.prefill_s)
        + abs(phases.decode_s - evidence.decode_s)
    )
    return Fitted(twin, phases, away / max(_LEAST_S, evidence.engine_s))


def _towards(observed_s: float, replayed_s: float) -> float:
    """How much slower to make a phase. Damped, as near saturation a little more work makes a phase much longer."""
    ratio = max(_LEAST_S, observed_s) / max(_LEAST_S, replayed_s)
    return float(min(3.0, max(0.33, ratio**_DAMPING)))
