"""`python -m tests.soak [--minutes 30] [--share 0.7]`: the soak with its figures; exit 1 when a promise is broken."""

import argparse
import asyncio
import os
import platform
import sys

from tests.soak.run import MEMORY_RATIO, soak


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--share", type=float, default=0.7, help="of one core, for the gateway")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    print(f"$ python -m tests.soak {' '.join(sys.argv[1:])}   on {platform.machine()}, {os.cpu_count()} cores")
    seen = asyncio.run(
        soak(
            seconds=asked.minutes * 60,
            share=asked.share,
            seed=asked.seed,
            progress=lambda line: print(line, flush=True),
        )
    )
    ratio = seen.memory_end / seen.memory_early
    print(
        f"requests/s {seen.per_second:.0f}, gateway {seen.cpu_us:.0f} us of CPU each = {seen.cpu_share:.0%} of a core"
    )
    print(f"outcomes {dict(seen.tally.outcomes)}, intended faults {seen.tally.intended}, late {seen.tally.late}")
    print(f"memory {seen.memory_early:,} -> {seen.memory_end:,} bytes: {ratio:.3f} (at most {MEMORY_RATIO})")
    print(f"slots left {seen.slots_left}, descriptors at rest {seen.descriptors[0]} -> {seen.descriptors[1]}")
    for fault in seen.faults():
        print(f"FAILED: {fault}")
    return 1 if seen.faults() else 0


if __name__ == "__main__":
    sys.exit(main())
