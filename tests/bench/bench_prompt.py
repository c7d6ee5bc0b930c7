"""Cost of the prompt core: parse, canonicalize, view and block hashes, beside orjson.loads + orjson.dumps.

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


def body(size: int, tools: list[dict[str, Any]], rng: random.Random) -> bytes:
    """A chat body whose messages have about `size` bytes."""
    text = " ".join(rng.choices(WORDS, k=size // 5))[:size]
    cut = size * 6 // 10
    messages = [{"role": "system", "content": text[:cut]}, {"role": "user", "content": text[cut:]}]
    extra = {"tools": tools} if tools else {}
    return json.dumps({"model": "m", "stream": True, "messages": messages, **extra}).encode()


def prepare(raw: bytes, tools: ToolCache, views: ToolViews) -> list[int]:
    """What the gateway does with a body before it is placed."""
    parsed = parse_body(raw)
    replacements, _ = canonical_members(parsed, tools)
    span = parsed.spans.get("tools")
    shown = None if span is None else replacements.get(span) or raw[span.start : span.end]
    view = prompt_view(parsed, shown, views)
    return block_hashes(view.text, view.seed)


def main() -> None:
    """Print the table."""
    print(f"command: {' '.join(sys.argv)}")
    print(f"machine: {platform.processor() or platform.machine()}, Python {platform.python_version()}")
    print(f"{'body':>6} {'tools':>5} {'order':>6} {'ours us':>9} {'orjson us':>9} {'ratio':>6}")
    rng = random.Random(1)
    for size in (2048, 32768):
        for count in (0, 10, 100):
            made = [tool(number) for number in range(count)]
            for order in ("same", "fresh") if count else ("same",):
                bodies = [body(size, rng.sample(made, count) if order == "fresh" else made, rng) for _ in range(64)]
                tools, views = ToolCache(), ToolViews()
                for raw in bodies[:2]:
                    prepare(raw, tools, views)
                rest = bodies[2:]
                ours = timeit.timeit(lambda r=rest, t=tools, v=views: [prepare(b, t, v) for b in r], number=1)  # type: ignore[misc]
                theirs = timeit.timeit(lambda r=rest: [orjson.dumps(orjson.loads(b)) for b in r], number=1)  # type: ignore[misc]
                each, base = ours / len(rest) * 1e6, theirs / len(rest) * 1e6
                print(f"{size:>6} {count:>5} {order:>6} {each:>9.1f} {base:>9.1f} {each / base:>6.2f}")


if __name__ == "__main__":
    main()
