"""How a version's prompts begin, as hashes: how much of it two versions share, without keeping any text.

Chained hashes of 128 byte pieces (prefix.blocks) under one seed for all, so that neither salt nor model keeps the
openings of two versions apart, of the first 64 KB of tools and leading system text.
"""

from array import array
from bisect import bisect_left
from typing import Final

from prefix.blocks import block_hashes
from prefix.view import View

PIECE_BYTES: Final = 128
MOST_BYTES: Final = 64 << 10


class Opening:
    """One prompt's tools and leading system text. size: its bytes, those too that are behind the hashed ones."""

    __slots__ = ("_chain", "size")

    def __init__(self, view: View) -> None:
        self.size = view.stable
        self._chain = array("Q", block_hashes(view.text[: min(view.stable, MOST_BYTES)], 0, PIECE_BYTES))

    def shared_bytes(self, other: "Opening") -> int:
        """How many leading bytes two openings have in common, in whole pieces."""
        mine, its = self._chain, other._chain
        most = min(len(mine), len(its))
        return PIECE_BYTES * bisect_left(range(most), True, key=lambda place: mine[place] != its[place])
