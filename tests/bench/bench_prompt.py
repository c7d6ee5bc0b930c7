"""Cost of the prompt core: parse, canonicalize, split (the version), view and block hashes, beside orjson.

    python -m tests.bench.bench_prompt

Prints microseconds of CPU per body for 2 KB and 32 KB chat bodies with 0, 10 and 100 tools, and the ratio to orjson
reading and writing the same bodies in the same run. No user message is ever sent twice. What is known of the rest:

    known    tools, system text and parameters were seen before
    field    the same, but each body has a field of its own (`user`)
    order    the same, but each body has its tools in an order of its own
    first    nothing: the caches are empty for each body
"""

import json
import platform
import random
import sys
import time
from typing import Any

import orjson

from prefix.blocks import HeadHashes
from prefix.body import BodyCache, parse_body
from prefix.canonical import ToolCache
from prefix.prompt_version import PromptVersions
from prefix.split import canonical_tools
from prefix.tool_view import ToolViews
from prefix.view import prompt_view

WORDS = "the quick brown fox jumps over a lazy dog and reads 17 pages of terms before lunch".split()
CASES = ("known", "field", "order", "first")
BODIES, PASSES = 64, 7


class Caches:
    """What a gateway process keeps between requests."""

    def __init__(self) -> None:
        self.bodies, self.tools = BodyCache(), ToolCache()
        self.views, self.versions, self.heads = ToolViews(), PromptVersions(), HeadHashes()

    def prepare(self, raw: bytes) -> list[int]:
        """What the gateway does with a body before it is placed."""
        parsed = parse_body(raw, self.bodies)
        tools = canonical_tools(parsed, self.tools)
        shown = None if tools is None else tools.raw
        self.versions.version(parsed, shown)
        view = prompt_view(parsed, shown, self.views)
        return self.heads.hashes(view.text, view.seed, view.stable)


def tool(number: int) -> dict[str, Any]:
    """A tool of about 400 bytes."""
    properties = {f"field_{i}": {"type": "string", "description": "what the user said"} for i in range(4)}
    parameters = {"type": "object", "properties": properties, "required": sorted(properties)}
    return {
        "type": "function",
        "function": {"name": f"tool_{number:03}", "description": "d", "parameters": parameters},
    }


def words(size: int, rng: random.Random) -> str:
    """About `size` bytes of text."""
    return " ".join(rng.choices(WORDS, k=size // 5))[:size]


class Bodies:
    """Chat bodies of one size: a system text (60%) and tools that all share, a question of its own for each."""

    def __init__(self, size: int, tools: int, case: str) -> None:
        self._rng = random.Random(1)
        self._size, self._case = size, case
        self._system = words(size * 6 // 10, self._rng)
        self._tools = [tool(number) for number in range(tools)]

    def body(self) -> bytes:
        """The next one."""
        question = words(self._size * 4 // 10, self._rng)
        messages = [{"role": "system", "content": self._system}, {"role": "user", "content": question}]
        fields: dict[str, Any] = {"model": "m", "stream": True, "messages": messages}
        if self._tools:
            shuffled = self._case == "order"
            fields["tools"] = self._rng.sample(self._tools, len(self._tools)) if shuffled else self._tools
        if self._case == "field":
            fields["user"] = f"{self._rng.getrandbits(64):x}"
        return json.dumps(fields).encode()


def ours(bodies: list[bytes], known: Caches | None) -> float:
    """Seconds for these bodies; without caches, each finds empty ones."""
    caches = [known or Caches() for _ in bodies]
    start = time.process_time()
    for cache, raw in zip(caches, bodies, strict=True):
        cache.prepare(raw)
    return time.process_time() - start


def theirs(bodies: list[bytes]) -> float:
    """Seconds for these bodies."""
    start = time.process_time()
    for raw in bodies:
        orjson.dumps(orjson.loads(raw))
    return time.process_time() - start


def measure(size: int, tools: int, case: str) -> tuple[float, float]:
    """Microseconds per body, ours and orjson's: the best pass."""
    made = Bodies(size, tools, case)
    known = None if case == "first" else Caches()
    if known:
        ours([made.body(), made.body()], known)
    count = BODIES if known else 4
    passes = [[made.body() for _ in range(count)] for _ in range(PASSES)]
    best = min(ours(bodies, known) for bodies in passes), min(theirs(bodies) for bodies in passes)
    return best[0] / count * 1e6, best[1] / count * 1e6


def main() -> None:
    """Print the table."""
    print(f"command: {' '.join(sys.argv)}")
    print(f"machine: {platform.processor() or platform.machine()}, Python {platform.python_version()}")
    print(f"{'body':>6} {'tools':>5} {'case':>6} {'ours us':>9} {'orjson us':>9} {'ratio':>6}")
    for size in (2048, 32768):
        for tools in (0, 10, 100):
            for case in CASES if tools else ("known", "field", "first"):
                mine, other = measure(size, tools, case)
                print(f"{size:>6} {tools:>5} {case:>6} {mine:>9.1f} {other:>9.1f} {mine / other:>6.2f}")


if __name__ == "__main__":
    main()
