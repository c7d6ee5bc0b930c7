"""Searches for text that comes again behind a difference, for as long as they are worth their price.

One idea: what did not recur the last times will hardly do so the next time. After PATIENCE fruitless searches under
one key (a prompt version, and about where its prompts part) only each SELDOM-th is made, so a fault that is new is
found within that many prompts. Bounded, the key not searched for the longest time out first.
"""

from collections.abc import Hashable
from typing import Final

from prefix.recurring import common_prefix, recurring

PATIENCE: Final = 4
SELDOM: Final = 32

_KEPT: Final = 8192
Runs = tuple[tuple[int, int], ...]
_NOTHING: Final[Runs] = ()


class Searches:
    """How often each key was searched in vain."""

    __slots__ = ("_fruitless",)

    def __init__(self) -> None:
        self._fruitless: dict[Hashable, int] = {}

    def search(self, near: bytes, text: bytes, key: Hashable, parted: int) -> tuple[int, Runs]:
        """Where two texts part and what recurs behind, unless that was in vain too often under this key.

        parted: up to where they are likely to agree.
        """
        tried = self._fruitless.pop(key, 0) + 1
        if tried <= PATIENCE or tried % SELDOM == 0:
            start = parted if near[:parted] == text[:parted] else 0
            start += common_prefix(near, text, start, start)
            found = recurring(near, text, start)
            if found:
                return start, found
        self._fruitless[key] = tried
        if len(self._fruitless) > _KEPT:
            del self._fruitless[next(iter(self._fruitless))]
        return 0, _NOTHING
