"""The request histograms of SGLang 0.5.23 at /metrics: its names and buckets (observability/metrics_collector.py).

The queue time is observed when a request is first scheduled, TTFT and the prefill stage at its first token, the rest
when it ends.
"""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from math import inf
from typing import Final

_LENGTHS: Final = (
    *(100, 300, 500, 700, 1_000, 1_500, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000, 8_000, 9_000, 10_000, 12_500),
    *(15_000, 17_500, 20_000, 22_500, 25_000, 27_500, 30_000, 35_000, 40_000, 60_000, 80_000, 100_000, 200_000),
    *(300_000, 400_000, 600_000, 800_000, 1_000_000, 1_100_000),
)
_TTFT: Final = (0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400)
_QUEUE: Final = (
    *(0.0, 0.001, 0.005, 0.01, 0.05, 0.1, 0.2, 0.5, 1, 2, 3, 4, 5, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 100),
    *(200, 300, 400, 500, 600, 700, 800, 900, 1_000, 1_200, 1_400, 1_600, 1_800, 2_000, 2_500, 3_000),
)
_E2E: Final = (0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400, 600, 1_200, 1_800, 2_400)

_TPOT: Final = (
    *(0.002, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.06, 0.08, 0.1, 0.2, 0.4, 0.6, 0.8),
    *(1, 2, 4, 6, 8),
)
_STAGE: Final = tuple(0.001 * 1.62**power for power in range(30))
PREFILL: Final = "per_stage_req_latency_seconds"
"""Of the stage `prefill_forward`, the only one that is told."""

HISTOGRAMS: Final = {
    PREFILL: _STAGE,
    "request_time_per_output_token_seconds": _TPOT,
    "queue_time_seconds": _QUEUE,
    "time_to_first_token_seconds": _TTFT,
    "e2e_request_latency_seconds": _E2E,
    "prompt_tokens_histogram": _LENGTHS,
    "generation_tokens_histogram": _LENGTHS,
}


_MORE: Final = {PREFILL: ',stage="prefill_forward"'}


class Histograms:
    """What was observed so far, by name."""

    def __init__(self) -> None:
        self._counts = {name: [0] * (len(bounds) + 1) for name, bounds in HISTOGRAMS.items()}
        self._sums = dict.fromkeys(HISTOGRAMS, 0.0)

    def observe(self, name: str, value: float) -> None:
        """One value."""
        self._counts[name][bisect_left(HISTOGRAMS[name], value)] += 1
        self._sums[name] += value

    def page(self, labels: str) -> str:
        """In the Prometheus text format. labels: as they stand between braces."""
        return "".join(
            _lines(name, labels + _MORE.get(name, ""), self._counts[name], self._sums[name]) for name in HISTOGRAMS
        )


def _lines(name: str, labels: str, counts: Sequence[int], total: float) -> str:
    reached = list(accumulate(counts))
    bounds = [*HISTOGRAMS[name], inf]
    rows = [f"# TYPE sglang:{name} histogram\n", f"sglang:{name}_sum{{{labels}}} {total}\n"]
    for bound, count in zip(bounds, reached, strict=True):
        le = "+Inf" if bound == inf else str(float(bound))
        rows.append(f'sglang:{name}_bucket{{{labels},le="{le}"}} {float(count)}\n')
    rows.append(f"sglang:{name}_count{{{labels}}} {float(reached[-1])}\n")
    return "".join(rows)
