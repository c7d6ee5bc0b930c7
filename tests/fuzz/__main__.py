"""`python -m tests.fuzz [--minutes 30] [--seed N]`: examples until the time is over; a finding ends it."""

import argparse
import secrets
import sys

from tests.fuzz.run import fuzz


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    asked = parser.parse_args()
    print(f"$ python -m tests.fuzz --minutes {asked.minutes:g} --seed {asked.seed}", flush=True)
    tried = fuzz(asked.minutes * 60, first_seed=asked.seed, progress=lambda line: print(line, flush=True))
    print(f"no finding in {sum(tried.values()):,} examples: {tried}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
