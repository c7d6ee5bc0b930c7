"""Pieces of bodies that many requests have in common, kept by their bytes.

A system text or a set of tools comes again with every request of its application. Found again by its bytes, a piece
is not parsed again, and what others made of it is not made again.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar

import xxhash

T = TypeVar("T")
_FACTOR, _ENTRY, _REMEMBERED = 8, 2048, 4096


class Piece:
    """Bytes of a body, and what was made of them. Shared by all who ask: what comes of it must never be changed."""

    __slots__ = ("_made", "raw")

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self._made: dict[Callable[[Any], Any], Any] = {}

    def once(self, read: Callable[[Self], T]) -> T:
        """What `read` makes of this piece; the second time what it made the first time."""
        if read not in self._made:
            self._made[read] = read(self)
        made: T = self._made[read]
        return made


P = TypeVar("P", bound=Piece)


class Kept(Generic[P]):
    """Pieces by their bytes, least recently used out first. Keeping them changes speed only, never a result.

    A piece is kept from its second time on: what each request has for itself, like a user's name, takes no room.
    make: what makes a piece, or None when these bytes are none. limit_bytes: what all may take; parsed values are
    bigger than their text, so each counts for several times its own bytes.
    """

    __slots__ = ("_bytes", "_kept", "_limit", "_make", "_once")

    def __init__(self, make: Callable[[bytes], P | None], limit_bytes: int) -> None:
        self._make = make
        self._kept: OrderedDict[int, P] = OrderedDict()
        self._once: dict[int, None] = {}
        self._bytes = 0
        self._limit = limit_bytes

    def __len__(self) -> int:
        return len(self._kept)

    def piece(self, raw: bytes) -> P | None:
        """The piece with these bytes. Raises what `make` raises."""
        key = xxhash.xxh3_64_intdigest(raw)
        known = self._kept.get(key)
        if known is not None and known.raw == raw:
            self._kept.move_to_end(key)
            return known
        made = self._make(raw)
        if made is not None and _cost(made) <= self._limit and self._again(key):
            self._keep(key, made)
        return made

    def _again(self, key: int) -> bool:
        """Whether it was asked for before, as far as that is remembered."""
        if key in self._once:
            del self._once[key]
            return True
        if len(self._once) >= _REMEMBERED:
            self._once.clear()
        self._once[key] = None
        return False

    def _keep(self, key: int, piece: P) -> None:
        replaced = self._kept.pop(key, None)
        self._bytes += _cost(piece) - (0 if replaced is None else _cost(replaced))
        self._kept[key] = piece
        while self._bytes > self._limit:
            _, dropped = self._kept.popitem(last=False)
            self._bytes -= _cost(dropped)


def _cost(piece: Piece) -> int:
    return _ENTRY + _FACTOR * len(piece.raw)
