"""What placement costs: microseconds of CPU for route + on_first_token + release, warm, 8k-token prompts.

    .venv/bin/python tests/bench/bench_router.py [--requests 4000] [--profile]

The traffic: 64 blocks of 128 tokens; a system prompt of 16 blocks, one of 20 tenants' 16 blocks, then 32 blocks that
continue a conversation of the past (half of the requests) or are new. 16 requests are in flight at any time, and the
index is full, so each release evicts. The prompts are made beforehand, so their hashes come from memory and not from
a CPU cache, as they would in the gateway. Each line is the best of five runs.
"""

import argparse
import cProfile
import platform
import re
import sys
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).parents[2]))

from gateway.policies import POLICIES, scramble
from gateway.router import Route, Router

BLOCKS, BLOCK_TOKENS, IN_FLIGHT = 64, 128, 16
CAPACITY_TOKENS = 500_000


def prompts(count: int, round_: int) -> list[list[int]]:
    """The chained block hashes of `count` prompts."""
    made: list[list[int]] = []
    for i in range(count):
        tenant, talk = scramble(i) % 20, scramble(scramble(i)) % (count // 2 + 1)
        own = (round_, i) if i % 2 else (round_, talk)
        parts = [("system", 16), (("tenant", tenant), 16), ((tenant, *own), BLOCKS - 32)]
        made.append([hash((part, k)) & (2**64 - 1) for part, size in parts for k in range(size)])
    return made


def replay(router: Router, requests: list[list[int]], start: float) -> float:
    """CPU seconds to place all requests."""
    flying: list[Route] = []
    now = start
    began = process_time()
    for blocks in requests:
        route = router.route(blocks, BLOCKS * BLOCK_TOKENS + 40, now)
        now += 0.01
        flying.append(route)
        if len(flying) > IN_FLIGHT // 2:
            router.on_first_token(flying[-(IN_FLIGHT // 2)], now)
        if len(flying) > IN_FLIGHT:
            done = flying.pop(0)
            router.release(done, now, cached_tokens=done.expected_cached_tokens, output_tokens=200)
    for route in flying:
        router.release(route, now, cached_tokens=None, output_tokens=1)
    return process_time() - began


def measure(policy: str, workers: int, requests: int) -> float:
    """Microseconds per request with this policy and so many workers."""
    router = Router(policy, block_tokens=BLOCK_TOKENS)
    for w in range(workers):
        router.add_worker(f"http://10.0.0.{w}:30000", kv_capacity_tokens=CAPACITY_TOKENS)
    rounds = [prompts(requests, r) for r in range(6)]
    times = [replay(router, p, 1000.0 * r) for r, p in enumerate(rounds)]
    return min(times[1:]) / requests * 1e6


def main() -> None:
    """Print the machine, the command and a table."""
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--requests", type=int, default=4000)
    args.add_argument("--profile", action="store_true", help="profile 8 workers instead")
    options = args.parse_args()
    if options.profile:
        cProfile.runctx("measure('expected-ttft', 8, options.requests)", globals(), locals(), sort="tottime")
        return
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace"))
    load = Path("/proc/loadavg").read_text(encoding="ascii").split()[0]
    print(f"{cpu.group(1) if cpu else platform.machine()}, Python {platform.python_version()}, load average {load}")
    print(f"$ python {' '.join(sys.argv)}")
    print(f"{'policy':16} {'workers':>7} {'us/request':>10}")
    for policy in POLICIES:
        for workers in (8, 64):
            print(f"{policy:16} {workers:7} {measure(policy, workers, options.requests):10.1f}", flush=True)


if __name__ == "__main__":
    main()
