"""Chained block hashes: block i's hash covers everything before it, so equal hash means equal whole prefix.

A block is `block_bytes` of the view (prefix.view), hashed with xxh3-64 under the hash of the block before it; the
first one under the view's seed, which holds the namespace. Full blocks only, as engines cache whole pages only.
Memory is 8 bytes a block in an index, and no prompt text is kept.
"""

from collections.abc import Callable
from functools import lru_cache
from struct import Struct

import xxhash

_hash = xxhash.xxh3_64_intdigest

BLOCK_BYTES = 512
"""Bytes of view in one block: about 128 tokens of English text."""


def block_hashes(text: bytes, seed: int, block_bytes: int = BLOCK_BYTES) -> list[int]:
    """The chained hashes of the full blocks of `text`: len(text) // block_bytes integers of 64 bits."""
    chain = seed
    return [chain := _hash(block, chain) for block in _cutter(len(text) // block_bytes, block_bytes)(text)]


@lru_cache(maxsize=1024)
def _cutter(count: int, size: int) -> Callable[[bytes], tuple[bytes, ...]]:
    """Cuts a text into that many blocks in one call."""
    return Struct(f"{size}s" * count).unpack_from
