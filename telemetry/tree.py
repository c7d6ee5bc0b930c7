"""What the prompts of a route share, as a tree: the last ones' block hashes, no text.

Hashes are chained (prefix.blocks), so two prompts that have one in common have everything before it in common too,
and a block that as many prompts go through as through the one before it is no fork. So counting blocks gives the
tree: a node is a run of blocks with one count. It is made of the last prompts when somebody asks.
"""

from array import array
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from prefix.blocks import BLOCK_BYTES

PROMPTS: Final = 256
"""Kept per route; of each up to MOST_BLOCKS blocks, so at most half a megabyte."""
MOST_BLOCKS: Final = 256
NODES: Final = 200
_VERSIONS: Final = 5


class Chain(NamedTuple):
    """One prompt. version: its label; size, tokens: of all of its view, in bytes and as the engine counted."""

    version: str
    blocks: Sequence[int]
    size: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Node:
    """A piece of prompts without a fork in it. blocks: from the prompts' start to its end; depth_tokens: before it;
    share: of the route's last prompts. prompt_versions: at most five, the most frequent first."""

    id: str
    parent: str | None
    blocks: Sequence[int]
    depth_tokens: int
    tokens: int
    requests: int
    share: float
    prompt_versions: list[str]


class Recent:
    """The last prompts of each route whose tokens an engine counted. For one thread."""

    def __init__(self) -> None:
        self._routes: dict[str, deque[Chain]] = {}

    def record(self, route: str, version: str, blocks: Sequence[int], size: int, tokens: int) -> None:
        """Keeps one prompt."""
        chains = self._routes.get(route)
        if chains is None:
            chains = self._routes[route] = deque(maxlen=PROMPTS)
        chains.append(Chain(version, array("Q", blocks[:MOST_BLOCKS]), size, tokens))

    def of(self, route: str) -> list[Chain]:
        """A copy, oldest first."""
        return list(self._routes.get(route, ()))


def tree(chains: Sequence[Chain], most: int = NODES) -> list[Node]:
    """The nodes that most prompts go through, parents first. Tokens are scaled from bytes."""
    counts = Counter(block for chain in chains for block in chain.blocks)
    per_block = BLOCK_BYTES * sum(chain.tokens for chain in chains) / max(1, sum(chain.size for chain in chains))
    versions: dict[int, Counter[str]] = {}
    found: dict[int, tuple[int | None, Sequence[int], int, int]] = {}
    for chain in chains:
        parent = None
        for start, end in _runs([counts[block] for block in chain.blocks]):
            head = chain.blocks[start]
            if head not in found:
                found[head] = parent, chain.blocks, start, end
                versions[head] = Counter()
            versions[head][chain.version] += 1
            parent = head
    biggest = sorted(found, key=lambda head: (-counts[head], found[head][2]))[:most]
    return [_node(head, *found[head], counts[head], len(chains), per_block, versions[head]) for head in biggest]


def _runs(counts: Sequence[int]) -> Iterable[tuple[int, int]]:
    """Where equal counts begin and end."""
    start = 0
    for place in range(1, len(counts) + 1):
        if place == len(counts) or counts[place] != counts[start]:
            yield start, place
            start = place


def _node(
    head: int,
    parent: int | None,
    blocks: Sequence[int],
    start: int,
    end: int,
    requests: int,
    prompts: int,
    per_block: float,
    versions: Counter[str],
) -> Node:
    depth = round(start * per_block)
    return Node(
        id=_name(head),
        parent=None if parent is None else _name(parent),
        blocks=blocks[:end],
        depth_tokens=depth,
        tokens=round(end * per_block) - depth,
        requests=requests,
        share=requests / prompts,
        prompt_versions=[version for version, _ in versions.most_common(_VERSIONS)],
    )


def _name(head: int) -> str:
    return f"{head:016x}"
