"""The whole run as one value, and what is to be said about how far it can be trusted."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Final

import msgspec

from gateway.bench.compare import LEAST_PAIRS, Comparison
from gateway.bench.gauges import Gauge
from gateway.bench.outcome import Outcome
from gateway.bench.summary import Summary
from gateway.percentile import nearest_rank

LATE_S: Final = 0.010
"""Sent or read later than this (99th percentile), the client's own delay shows in TTFT and ITL."""

BUSY_SHARE: Final = 0.8
"""Of one processor: beyond it an event loop has queues of its own."""

GROWTH: Final = 2.0
_LEAST_P99: Final = 100
_LEAST_GROWN: Final = 30


class Setting(msgspec.Struct, frozen=True):
    """What was run. source: its name; arrival: in words. seed: repeats arrivals and made-up prompts."""

    source: str
    kind: str
    arrival: str
    seed: int
    isolation: str
    model: str | None
    slos: dict[str, float]
    interleave: str | None = None
    window_s: float | None = None


class Report(msgspec.Struct, frozen=True):
    """sides: one, or two that were compared. outcomes: of both, in the order of their ends. gauges: by side."""

    version: str
    started: float
    setting: Setting
    sides: list[Summary]
    comparison: Comparison | None
    warnings: list[str]
    interrupted: bool
    outcomes: list[Outcome]
    gauges: list[list[Gauge]]

    @property
    def completed(self) -> int:
        """Measured requests that were answered, on both sides."""
        return sum(side.total.completed for side in self.sides)


def as_json(report: Report) -> dict[str, Any]:
    """Everything but the single requests."""
    rows = {name: getattr(report, name) for name in report.__struct_fields__ if name != "outcomes"}
    built: dict[str, Any] = msgspec.to_builtins(rows)
    return built


def warnings(
    sides: Sequence[Summary],
    outcomes: Sequence[Outcome],
    comparison: Comparison | None,
    *,
    again: bool,
    open_loop: bool,
) -> list[str]:
    """One line each. again: the source was used more than once."""
    names = ("A", "B") if len(sides) > 1 else ("",)
    found = list(chain.from_iterable(map(_of_side, sides, names)))
    if again:
        found.append("the source was through before the end and began again: prompts that come again hit caches")
    for side in range(len(sides)):
        mine = [each for each in outcomes if each.side == side and each.measured and each.error is None]
        if open_loop and (grown := _growth(mine)) is not None and grown >= GROWTH:
            found.append(
                f"{sides[side].url}: took {grown:.1f} times as long in the last third as in the first: it does "
                "not keep up with this load, and its percentiles grow with the length of the run"
            )
    if comparison is not None and comparison.pairs < LEAST_PAIRS:
        found.append(f"only {comparison.pairs} pairs of windows: {LEAST_PAIRS} or more are needed for a verdict")
    return found


def _of_side(side: Summary, name: str) -> Iterator[str]:
    said, client, total = f"{name}: " * bool(name), side.client, side.total
    if client.lag_s is not None and client.lag_s.p99 > LATE_S:
        yield (
            f"{said}this client sent late (p99 {client.lag_s.p99 * 1000:.0f} ms): it is the bottleneck; "
            "latencies count that in, so they are too long"
        )
    if client.loop_s is not None and client.loop_s.p99 > LATE_S:
        yield f"{said}this client read late (p99 {client.loop_s.p99 * 1000:.0f} ms): TTFT and ITL are blurred by that"
    if client.cpu_share > BUSY_SHARE:
        yield f"{said}this client used {client.cpu_share:.0%} of a processor: use a lower rate or several clients"
    if total.ttft_s is not None and total.ttft_s.count < _LEAST_P99:
        yield f"{said}p99 of {total.ttft_s.count} requests is their maximum, or nearly: take more requests"
    if total.unreported:
        yield (
            f"{said}{total.unreported:,} of {total.completed:,} answers did not say how many tokens were cached: the "
            "hit rate is that of the others"
        )
    if side.without_tokens:
        yield f"{said}{side.without_tokens:,} answers had no token counts: tokens/s leave them out"
    if side.errors:
        failed = sum(times for times, _ in side.errors.values())
        yield f"{said}{failed:,} of {total.requests:,} requests failed; latencies are those of the others"


def _growth(outcomes: Sequence[Outcome]) -> float | None:
    """How much longer the last third took than the first, by the median."""
    if len(outcomes) < _LEAST_GROWN:
        return None
    ordered = sorted(outcomes, key=lambda outcome: outcome.due_s)
    third = len(ordered) // 3
    first, last = (sorted(each.e2e_s for each in part) for part in (ordered[:third], ordered[-third:]))
    return nearest_rank(last, 0.5) / nearest_rank(first, 0.5) if nearest_rank(first, 0.5) > 0 else None
