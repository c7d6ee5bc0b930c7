"""The record of one request: what captures store, traces replay, telemetry counts and logs print."""

from typing import Literal

import msgspec

UncachedReason = Literal["page", "stale", "evicted", "routed_away", "isolated", "divergent", "new", "unknown"]
"""Why a token of a prompt was not cached: telemetry.attribution."""


class RequestRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One finished request as the gateway saw it.

    Times are seconds (`started` since the Unix epoch); token counts are None where nobody reported them
    (unknown is not zero). `input_tokens` includes cached ones. `stable_tokens`: of the prompt, an
    estimate of what requests of its route share. `hoist_saved_tokens`: what moving volatile spans out
    of the system text saves, or would save where it is only reported. `limit`: which limit of its
    customer refused it. `trace_id`, `span_id`: of its own span or, where it has none, of the client's
    traceparent. `sampled`: it has one. `queued_s`: of `duration_s`, in the gateway's queue, which is not in
    `overhead_s`. `uncached_by_reason`: the uncached tokens of the prompt. `asked_model`: the one that was
    asked for, where the route's rules chose another; `missed_model`: what they chose and nobody serves.
    `usage_anomaly`: what was odd about the engine's report, one of `engine_adapter.usage.ANOMALIES`.
    Labels are raw, not yet bounded.
    """

    request_id: str
    started: float
    path: str
    route: str
    customer: str
    prompt_version: str | None
    prompt_version_declared: bool
    model: str
    worker: str | None
    policy: str
    reason: str | None
    stream: bool
    status: int
    outcome: str
    error_type: str | None
    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    expected_cached_tokens: int | None
    best_fleet_tokens: int | None
    prompt_bytes: int
    changes: int
    retries: int
    ttft_s: float | None
    duration_s: float
    overhead_s: float
    stable_tokens: int = 0
    hoist_saved_tokens: int = 0
    limit: str | None = None
    client_request_id: str | None = None
    trace_id: str | None = None
    span_id: str | None = None
    sampled: bool = False
    queued_s: float = 0.0
    uncached_by_reason: dict[UncachedReason, int] | None = None
    usage_anomaly: str | None = None
    asked_model: str | None = None
    missed_model: str | None = None
