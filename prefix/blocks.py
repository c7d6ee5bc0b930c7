"""Chained block hashes: block i's hash covers everything before it, so equal hash means equal whole prefix.

A block is `block_bytes` of the view (prefix.view), hashed with xxh3-64 under the hash of the block before it; the
first one under the view's seed, which holds the namespace. Full blocks only, as engines cache whole pages only.
Memory is 8 bytes a block in an index, and no prompt text is kept.
"""

from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from struct import Struct

import xxhash

_hash = xxhash.xxh3_64_intdigest

BLOCK_BYTES = 512
"""Bytes of view in one block: about 128 tokens of English text."""

_WORTH = 12
"""Blocks of head from which on looking it up is cheaper than hashing it."""


def block_hashes(text: bytes, seed: int, block_bytes: int = BLOCK_BYTES, *, start: int = 0) -> list[int]:
    """The chained hashes of the full blocks of `text`: len(text) // block_bytes integers of 64 bits.

    start: those of the blocks from this byte on only; then `seed` is the hash of the block before it.
    """
    chain = seed
    cut = _cutter((len(text) - start) // block_bytes, block_bytes)
    return [chain := _hash(block, chain) for block in cut(text, start)]


class HeadHashes:
    """Hashes blocks, and keeps those of long heads (tools and system text), which come again with every request.

    A head is known by a hash of 128 bits, so it costs one call and not one per block. Bounded by the blocks kept,
    least recently used head out first. Changes speed only, never a result.
    """

    __slots__ = ("_blocks", "_heads", "_limit")

    def __init__(self, limit_blocks: int = 1 << 16) -> None:
        self._heads: OrderedDict[int, list[int]] = OrderedDict()
        self._blocks = 0
        self._limit = limit_blocks

    def __len__(self) -> int:
        """Blocks kept."""
        return self._blocks

    def hashes(self, text: bytes, seed: int, head: int) -> list[int]:
        """As `block_hashes(text, seed)`. head: how many bytes of the text are likely to come again."""
        count = head // BLOCK_BYTES
        if not _WORTH <= count <= self._limit:
            return block_hashes(text, seed)
        size = count * BLOCK_BYTES
        key = xxhash.xxh3_128_intdigest(memoryview(text)[:size], seed)
        known = self._heads.get(key)
        if known is None:
            made = block_hashes(text, seed)
            self._keep(key, made[:count])
            return made
        self._heads.move_to_end(key)
        return known + block_hashes(text, known[-1], start=size)

    def _keep(self, key: int, head: list[int]) -> None:
        self._heads[key] = head
        self._blocks += len(head)
        while self._blocks > self._limit:
            _, dropped = self._heads.popitem(last=False)
            self._blocks -= len(dropped)


@lru_cache(maxsize=1024)
def _cutter(count: int, size: int) -> Callable[[bytes, int], tuple[bytes, ...]]:
    """Cuts a text into that many blocks in one call."""
    return Struct(f"{size}s" * count).unpack_from
