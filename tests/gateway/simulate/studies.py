"""A study with made-up numbers."""

from gateway.simulate.measure import Measured
from gateway.simulate.study import Row, Setting, Study

SETTING = Setting(engines=4, kv_capacity_tokens=10_000, block_tokens=16, profile="8b", seed=0)


def row(policy: str, rate: float, hit_rate: float, p99: float) -> Row:
    """Requests of 1,000 tokens in all."""
    measured = Measured(
        requests=90,
        input_tokens=1_000,
        cached_tokens=int(hit_rate * 1_000),
        hit_rate=hit_rate,
        ttft_mean_s=p99 / 4,
        ttft_p50_s=p99 / 5,
        ttft_p90_s=p99 / 2,
        ttft_p99_s=p99,
        imbalance=1.25,
        given_up_tokens=30,
        reasons={"affinity": 80, "spread": 10},
    )
    return Row(policy, rate, 12_345.6, measured)


def study(*rows: Row, infinite: float = 0.8, pooled: float = 0.5, bad_lines: int = 0) -> Study:
    """A trace of 100 requests."""
    made = rows or tuple(row(p, r, 0.4, 20.0 * r) for p in ("round-robin", "expected-ttft") for r in (0.7, 1.3))
    return Study("trace <b>.jsonl", 100, bad_lines, SETTING, infinite, pooled, made)
