"""How much of a prompt its route's traffic shares: system text, and behind it the few-shots or the document that many
requests go on from in different ways.

Counting how often a block is seen is not enough: a conversation of twenty turns sends its first block twenty times
and shares it with nobody. What tells a shared beginning is that prompts *part* behind it. Block hashes are chained
(prefix.blocks), so a block never seen before is a new way to go on from the block ahead of it, and each prompt
parts from the known ones at one place, found by bisection. A prompt's shared beginning ends at the last place where
at least `ways` prompts have parted: an ended prompt counts as a way of its own, since its last partial block has no
hash.

Blocks are remembered in two generations. The younger one is filled until it is full or old, then it becomes the older
one and what the older one knew is forgotten. So memory is bounded by 2 x `capacity` blocks (about 80 bytes each), a
prompt costs a few dictionary look-ups and one insertion per new block, and what traffic no longer shares is forgotten
after two windows. One object per route; time is an argument.
"""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import repeat

MAX_BLOCKS = 512
"""Blocks of one prompt that are looked at: 256 KB of it."""


class _Generation:
    """What was seen since `since`: ways to go on by block, and how deep the blocks with many ways are."""

    __slots__ = ("deep", "since", "ways")

    def __init__(self, since: float) -> None:
        self.since = since
        self.ways: dict[int, int] = {}
        self.deep: dict[int, int] = {}


class Popularity:
    """The shared beginnings of one route's prompts.

    ways: how many prompts must part behind a block for it to count as shared. capacity: blocks a generation holds.
    window: seconds a generation is filled for.
    """

    __slots__ = ("_capacity", "_older", "_ways", "_window", "_younger")

    def __init__(self, *, ways: int = 8, capacity: int = 32_768, window: float = 3600.0) -> None:
        self._ways = ways
        self._capacity = capacity
        self._window = window
        self._younger = self._older = _Generation(0.0)

    def __len__(self) -> int:
        """Blocks remembered: at most 2 x capacity."""
        return len(self._younger.ways) + (len(self._older.ways) if self._older is not self._younger else 0)

    def observe(self, blocks: Sequence[int], now: float) -> None:
        """Count one prompt. blocks: its chained block hashes. now: seconds, of any origin."""
        blocks = blocks[:MAX_BLOCKS]
        generation = self._generation(len(blocks), now)
        ways = generation.ways
        known = bisect_left(range(len(blocks)), True, key=lambda place: blocks[place] not in ways)
        ways.update(zip(blocks[known:], repeat(1)))
        if known:
            last = blocks[known - 1]
            ways[last] += 1
            if ways[last] >= self._ways:
                generation.deep[last] = known

    def shared_blocks(self, blocks: Sequence[int]) -> int:
        """How many leading blocks of this prompt the route's traffic shares."""
        return max(_deepest(self._younger, blocks), _deepest(self._older, blocks))

    def _generation(self, size: int, now: float) -> _Generation:
        """The generation to fill, a new one when the last is full or old."""
        younger = self._younger
        if len(younger.ways) + size > self._capacity or now - younger.since >= self._window:
            self._older = younger
            self._younger = younger = _Generation(now)
        return younger


def _deepest(generation: _Generation, blocks: Sequence[int]) -> int:
    deep = generation.deep
    return max(map(deep.__getitem__, deep.keys() & blocks), default=0) if deep else 0
