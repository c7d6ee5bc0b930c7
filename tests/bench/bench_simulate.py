"""How many requests a second `prefixgate simulate` plays, and a digest of what became of each of them.

    python -m tests.bench.bench_simulate [--policies a,b] [--engines 4] [--requests 12000] [--profile] TRACE...

One line for each trace and policy: requests per second of processor time, best of `--best` runs, at the load of
`--rate`; then the digest of every field of every outcome. A change that should only be faster leaves all digests as
they were; those of a small trace are kept in tests/gateway/simulate/test_golden.py.
"""

import argparse
import cProfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import msgspec

from gateway.policies import POLICIES
from gateway.router import Router
from gateway.simulate.fleet import Outcome
from gateway.simulate.study import Setting, outcomes_of
from gateway.simulate.workload import simulated_requests
from gateway.trace_file import read_trace
from prefix.trace import infer_block_tokens

CAPACITY = {"sharegpt": 100_000, "gsp": 100_000, "weka": 2_000_000}
"""KV tokens of an engine by the first word of a trace's name: short of memory, as in docs/routing.md."""


def digest(outcomes: Sequence[Outcome]) -> str:
    """A short hash of every field of every outcome, in order."""
    return sha256(msgspec.json.encode(outcomes)).hexdigest()[:16]


def main() -> None:
    """Measure what is asked for."""
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("traces", nargs="+", type=Path)
    args.add_argument("--policies", type=lambda text: text.split(","), default=list(POLICIES))
    args.add_argument("--engines", type=int, default=4)
    args.add_argument("--rate", type=float, default=1.0)
    args.add_argument("--requests", type=int, default=12_000)
    args.add_argument("--best", type=int, default=1)
    args.add_argument("--profile", action="store_true", help="where the time goes, instead")
    options = args.parse_args()
    for path in options.traces:
        trace = read_trace(path)[: options.requests]
        block = infer_block_tokens(trace)
        kv = CAPACITY.get(path.name.split("_")[0], 1_000_000)
        requests = simulated_requests(trace, block)
        setting = Setting(options.engines, kv, block, "70b", 0)
        for name in options.policies:
            profiler = cProfile.Profile(builtins=False)
            runs = []
            for _ in range(options.best):
                router = Router(name, block_tokens=block, seed=0)
                if options.profile:
                    profiler.enable()
                runs.append(outcomes_of(requests, setting, router, options.rate, lambda _ended: None))
                profiler.disable()
            per_s = len(requests) / min(took for _, took in runs)
            print(f"{path.name.split('.')[0]:24} {name:14} {per_s:8.0f} {digest(runs[0][0])}", flush=True)
            if options.profile:
                profiler.print_stats("tottime")


if __name__ == "__main__":
    main()
