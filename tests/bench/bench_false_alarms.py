"""How often does `prefixgate bench --compare` call equal targets different? And how often does it see a difference?

    python -m tests.bench.bench_false_alarms [--runs 200]

Made-up runs (tests/gateway/bench/test_compare.py: windows with moods of their own, long tails, failures) of 12 pairs
of windows with 8 requests of each side, judged by the very code of the command, without its intervals.
"""

import argparse
from random import Random

from gateway.bench.compare import ALPHA, compare
from tests.gateway.bench.test_compare import traffic


def share(runs: int, slower: float) -> float:
    """Of so many runs, those in which any number was called better or worse."""
    judged = 0
    for seed in range(runs):
        rows = compare(list(traffic(Random(seed), 12, slower=slower)), Random(seed), resamples=1).rows
        judged += any(row.verdict in ("better", "worse") for row in rows)
    return judged / runs


def main() -> None:
    """As the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    given = parser.parse_args()
    for slower, runs in ((1.0, given.runs), (1.5, given.runs // 4), (2.0, given.runs // 4)):
        print(f"TTFT of B {slower:g} times A's: {share(runs, slower):.1%} of {runs} runs judged (alpha {ALPHA:.0%})")


if __name__ == "__main__":
    main()
