"""What one pass measured, and what is wrong with the measurement if anything is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from gateway.demo.load import Outcome
from gateway.demo.tally import (
    TokensByLabels,
    by_name,
    client_tokens,
    gateway_tokens,
    mismatches,
    percentile,
    total,
)

LATE_S: Final = 0.025
"""Requests that leave later than this (99th percentile) blur TTFT."""

BUSY_SHARE: Final = 0.85
"""Processors busier than this take part in TTFT."""


@dataclass(frozen=True, slots=True)
class PassPlan:
    """How one pass differs from the others."""

    name: str
    policy: str
    level: str


PASSES: Final = (
    PassPlan("round robin + off", "round-robin", "off"),
    PassPlan("least load + safe", "least-load", "safe"),
    PassPlan("prefixgate", "expected-ttft", "safe"),
)


@dataclass(frozen=True, slots=True)
class PassResult:
    """One pass, added up. Seconds; `cpu_share`: of all processors, None when not measured."""

    plan: PassPlan
    requests: int
    errors: tuple[str, ...]
    ttft_p50_s: float | None
    ttft_p99_s: float | None
    sent_late_p99_s: float | None
    gateway: TokensByLabels
    client: TokensByLabels
    cpu_share: float | None

    @property
    def hit_rate(self) -> float | None:
        """By the gateway's counters."""
        return total(self.gateway).hit_rate


def measured(plan: PassPlan, outcomes: Sequence[Outcome], metrics: str, *, cpu_share: float | None) -> PassResult:
    """Add up a pass from what the client saw and the text of the gateway's `/metrics`."""
    ttft = [outcome.ttft_s for outcome in outcomes if outcome.ttft_s is not None]
    return PassResult(
        plan,
        len(outcomes),
        tuple(outcome.error for outcome in outcomes if outcome.error is not None),
        percentile(ttft, 0.50),
        percentile(ttft, 0.99),
        percentile([outcome.sent_s for outcome in outcomes], 0.99),
        gateway_tokens(metrics),
        client_tokens(outcomes),
        cpu_share,
    )


def warnings(result: PassResult) -> list[str]:
    """Why not to trust this pass: one line each, none when there is no reason."""
    found = []
    if result.errors:
        found.append(f"{len(result.errors)} of {result.requests} requests failed, first: {result.errors[0]}")
    if result.sent_late_p99_s is not None and result.sent_late_p99_s > LATE_S:
        found.append(f"the client sent late (p99 {result.sent_late_p99_s * 1000:.0f} ms): processors too slow")
    if result.cpu_share is not None and result.cpu_share > BUSY_SHARE:
        found.append(f"processors were {result.cpu_share:.0%} busy, other programs included: TTFT suffers")
    differences = mismatches(result.gateway, result.client)
    if differences:
        found.append(f"gateway and engines count differently for {len(differences)} label sets: {differences[0]}")
    return found


def sound(result: PassResult) -> bool:
    """Whether every request was answered, and counted alike by gateway and engines."""
    return not result.errors and not mismatches(result.gateway, result.client)


def as_json(result: PassResult) -> dict[str, Any]:
    """The pass for machines; rates are None where nothing is known."""
    tokens = total(result.gateway)
    return {
        "name": result.plan.name,
        "policy": result.plan.policy,
        "level": result.plan.level,
        "requests": result.requests,
        "errors": len(result.errors),
        "input_tokens": tokens.input,
        "cached_tokens": tokens.cached,
        "hit_rate": tokens.hit_rate,
        "ttft_p50_s": result.ttft_p50_s,
        "ttft_p99_s": result.ttft_p99_s,
        "hit_rate_by": hit_rates(result.gateway),
        "sent_late_p99_s": result.sent_late_p99_s,
        "cpu_share": result.cpu_share,
        "warnings": warnings(result),
    }


def hit_rates(tokens: TokensByLabels) -> dict[str, dict[str, float | None]]:
    """Hit rate by route, customer and prompt version."""
    return {view: {name: one.hit_rate for name, one in sums.items()} for view, sums in by_name(tokens).items()}
