"""What explaining every miss costs: microseconds of CPU for at_dispatch + finished, texts of 2 and of 32 KB.

    .venv/bin/python -m tests.bench.bench_attribution [--requests 3000]

The traffic, one line each: `new question` (a shared beginning of three quarters, then text never seen), `next turn`
(a conversation goes on), `all new` (nothing shared), `clock` (a clock at byte 20, the rest is shared but for the last
tenth), `salted` (as `new question`, in a namespace of its own). The engine caches what it had, in whole blocks; views
and blocks are made beforehand. The memory is full, so every prompt puts one out. The best of five passes.
"""

import argparse
import random
from collections.abc import Callable
from time import process_time

from prefix.blocks import BLOCK_BYTES, block_hashes
from prefix.view import View
from telemetry.knowledge import Knowledge

_WORDS = "the of and to in is that for it with as on be at by this have from or one had not but what all".split()


def words(size: int, seed: object) -> bytes:
    """Text of this many bytes."""
    rng = random.Random(str(seed))
    return " ".join(rng.choice(_WORDS) for _ in range(size // 2)).encode()[:size]


def new_question(size: int, i: int) -> bytes:
    """A known beginning and a new end."""
    return words(size * 3 // 4, "system") + words(size // 4, i)


def next_turn(size: int, i: int) -> bytes:
    """One of 50 conversations, longer by a turn than last time."""
    return words(size // 2 + (i // 50) % 40 * size // 80, ("talk", i % 50))


def all_new(size: int, i: int) -> bytes:
    """Nothing that was seen."""
    return words(size, i)


def clock(size: int, i: int) -> bytes:
    """A clock in front."""
    return b"You help. It is %012d. " % i + words(size * 9 // 10, "system") + words(size // 10, i)


def measure(make: Callable[[int, int], bytes], size: int, count: int, *, salted: bool = False) -> float:
    """Microseconds per request, warm."""
    knowledge: Knowledge[int] = Knowledge(capacity_bytes=count * size)
    best = 1.0
    for round_ in range(5):
        texts = [make(size, round_ * count + i) for i in range(count)]
        views = [
            View(1 + i % 3 if salted else 1, text, 0, None, 1 if salted else None) for i, text in enumerate(texts)
        ]
        prompts = [(view, block_hashes(view.text, view.seed)) for view in views]
        began = process_time()
        for i, (view, blocks) in enumerate(prompts):
            sight = knowledge.at_dispatch(view, blocks, "v", "abcd"[i % 4], held_blocks=0, fleet_blocks=0)
            tokens = len(view.text) // 4
            cached = sight.places.confirmed // BLOCK_BYTES * BLOCK_BYTES // 4
            knowledge.finished(sight, i, len(view.text), prompt_tokens=tokens, cached_tokens=cached, page_tokens=16)
        best = min(best, (process_time() - began) / count)
    return best * 1e6


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=1000)
    count = parser.parse_args().requests
    for size in (2 << 10, 32 << 10):
        for make in (new_question, next_turn, all_new, clock):
            print(f"{size >> 10:3} KB  {make.__name__:14} {measure(make, size, count):6.1f} us")
        print(f"{size >> 10:3} KB  {'salted':14} {measure(new_question, size, count, salted=True):6.1f} us")


if __name__ == "__main__":
    main()
