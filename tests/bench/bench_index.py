"""Memory of a router under unique prompts: what the index of which worker holds what costs, however many there were.

    python -m tests.bench.bench_index [--prompts 1000000] [--blocks 8] [--workers 8]

Every prompt is new: no block of one is another's. No worker says how large its cache is,
so nothing but the index's own limit bounds it. Resident memory is what the process has more than before the first
prompt; the most of it counts, seen every 1000 prompts.
"""

import argparse
from collections import deque
from pathlib import Path
from resource import getpagesize

from gateway.policies import scramble
from gateway.router import Route, Router

IN_FLIGHT = 64


def resident_bytes() -> int:
    """Resident memory of this process."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * getpagesize()


def unique_prompt(number: int, blocks: int) -> list[int]:
    """Block hashes that no other prompt has."""
    return [scramble(number * blocks + nth) for nth in range(blocks)]


def flood(router: Router, prompts: range, blocks: int) -> int:
    """Place and finish these prompts; the most blocks held in all."""
    flying: deque[Route] = deque()
    most = 0
    for number in prompts:
        now = number / 100
        route = router.route(unique_prompt(number, blocks), blocks * 128 + 17, now)
        router.on_first_token(route, now)
        flying.append(route)
        if len(flying) > IN_FLIGHT:
            router.release(flying.popleft(), now, cached_tokens=0, output_tokens=100)
        most = max(most, sum(router.holdings().values()))
    for route in flying:
        router.release(route, prompts.stop / 100, cached_tokens=0, output_tokens=100)
    return most


def main() -> None:
    """Print a line every tenth of the way."""
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--prompts", type=int, default=1_000_000)
    args.add_argument("--blocks", type=int, default=8)
    args.add_argument("--workers", type=int, default=8)
    options = args.parse_args()
    router = Router(block_tokens=128)
    for worker in range(options.workers):
        router.add_worker(f"w{worker}")
    before, most, step = resident_bytes(), 0, 1000
    for start in range(0, options.prompts, step):
        flood(router, range(start, min(start + step, options.prompts)), options.blocks)
        most = max(most, resident_bytes() - before)
        if (start + step) % max(step, options.prompts // 10) == 0:
            held = sum(router.holdings().values())
            print(f"{start + step:9,} prompts  {held:9,} blocks held  {most / 1e6:6.1f} MB", flush=True)


if __name__ == "__main__":
    main()
