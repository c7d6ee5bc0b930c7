"""Cost of the prompt core: parse, canonicalize, split (the version), view and block hashes, beside orjson.

    python tests/bench/bench_prompt.py

Prints microseconds per body for 2 KB and 32 KB chat bodies with 0, 10 and 100 tools (known to the cache, and the
same tools in a fresh order each time), and the ratio to orjson reading and writing the same body in the same run.
"""

import json
import platform
import random
import sys
import timeit
from typing import Any

import orjson

from prefix.blocks import block_hashes
from prefix.body import parse_body
from prefix.canonical import ToolCache, canonical_members
from prefix.prompt_version import PromptVersions
from prefix.view import ToolViews, prompt_view

WORDS = "the quick brown fox jumps over a lazy dog and reads 17 pages of terms before lunch".split()


def tool(number: int) -> dict[str, Any]:
    """A tool of about 400 bytes."""
    properties = {f"field_{i}": {"type": "string", "description": "what the user said"} for i in range(4)}
    parameters = {"type": "object", "properties": properties, "required": sorted(properties)}
    return {
        "type": "function",
        "function": {"name": f"tool_{number:03}", "description": "d", "parameters": parameters},
    }


def body(system: str, tools: list[dict[str, Any]], question: str) -> bytes:
    """A chat body: a system text that all requests share, a question of its own."""
    messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    extra = {"tools": tools} if tools else {}
    return json.dumps({"model": "m", "stream": True, "messages": messages, **extra}).encode()


def words(size: int, rng: random.Random) -> str:
    """About `size` bytes of text."""
    return " ".join(rng.choices(WORDS, k=size // 5))[:size]


def prepare(raw: bytes, tools: ToolCache, views: ToolViews, versions: PromptVersions) -> list[int]:
    """What the gateway does with a body before it is placed."""
    parsed = parse_body(raw)
    replacements, _ = canonical_members(parsed, tools)
    span = parsed.spans.get("tools")
    shown = None if span is None else replacements.get(span) or raw[span.start : span.end]
    versions.version(parsed, shown)
    view = prompt_view(parsed, shown, views)
    return block_hashes(view.text, view.seed)


def measure(size: int, count: int, order: str) -> tuple[float, float]:
    """Microseconds per body: ours, and orjson's. "fresh": the tools come in an order not seen before."""
    rng = random.Random(1)
    made = [tool(number) for number in range(count)]
    system = words(size * 6 // 10, rng)
    bodies = [
        body(system, rng.sample(made, count) if order == "fresh" else made, words(size * 4 // 10, rng))
        for _ in range(64)
    ]
    tools, views, versions = ToolCache(), ToolViews(), PromptVersions()
    warm, rest = bodies[:2], bodies[2:]
    for raw in warm:
        prepare(raw, tools, views, versions)
    repeats = 1 if order == "fresh" else 5  # an order is fresh only once

    def ours() -> None:
        for raw in rest:
            prepare(raw, tools, views, versions)

    def theirs() -> None:
        for raw in rest:
            orjson.dumps(orjson.loads(raw))

    best = min(timeit.repeat(ours, number=1, repeat=repeats)), min(timeit.repeat(theirs, number=1, repeat=5))
    return best[0] / len(rest) * 1e6, best[1] / len(rest) * 1e6


def main() -> None:
    """Print the table."""
    print(f"command: {' '.join(sys.argv)}")
    print(f"machine: {platform.processor() or platform.machine()}, Python {platform.python_version()}")
    print(f"{'body':>6} {'tools':>5} {'order':>6} {'ours us':>9} {'orjson us':>9} {'ratio':>6}")
    for size in (2048, 32768):
        for count in (0, 10, 100):
            for order in ("same", "fresh") if count else ("same",):
                ours, theirs = measure(size, count, order)
                print(f"{size:>6} {count:>5} {order:>6} {ours:>9.1f} {theirs:>9.1f} {ours / theirs:>6.2f}")


if __name__ == "__main__":
    main()
