"""Which slot of a llama.cpp server a request is sent to, so that no long history is lost for a short prefix. Pure.

One idea: a slot keeps one sequence. A request that takes it over keeps what both begin with, the rest is lost. The
server itself looks at the first half only: it gives a request the idle slot with the longest common prefix. So the
next conversation of a shared system prompt takes over a slot with an hour of history while an empty one stands beside
it. Here the request goes where it saves most *less what it destroys*; what nobody comes back for loses its worth with
every round of the slots, so that old histories make room. In drawn mixes of conversations and one-off questions
(factors 1 to 8, fading 0.5 and 0.8) these two constants kept within 0.01 of the best share of blocks in each mix.

A request that names a busy slot waits for it, whatever else is free. So a slot is named only while every request at
the server is known and an idle slot is: otherwise the server chooses.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

LOSS: Final = 4.0
"""What a destroyed block weighs: its owner comes back for it, and then takes over somebody else's slot."""

FADING: Final = 0.8
"""What is left of that with every round of the slots in which nobody came back."""


class Slots:
    """What the slots of one server hold, as far as requests from here tell. Blocks are chained hashes."""

    __slots__ = ("_busy", "_held", "_taken", "_unnamed", "_used")

    def __init__(self, count: int) -> None:
        self._held: list[Sequence[int]] = [()] * count
        self._busy = [0] * count
        self._used = [0] * count
        self._taken = 0
        self._unnamed = 0

    def __len__(self) -> int:
        return len(self._held)

    def forget(self) -> None:
        """The server lost its cache; what runs there goes on."""
        self._held = [()] * len(self._held)

    def take(self, blocks: Sequence[int], wanted: int | None = None, *, foreign: bool = False) -> int | None:
        """The slot for a request, taken until `give_back`; None: the server's choice.

        wanted: what the client named itself. foreign: others than we send requests to the server now.
        """
        idle = [slot for slot, busy in enumerate(self._busy) if not busy]
        if wanted is not None:
            slot: int | None = wanted % len(self._held)
        elif foreign or self._unnamed or not idle:
            slot = None
        else:
            slot = max(idle, key=lambda each: (self._worth(each, blocks), -self._used[each]))
        if slot is None:
            self._unnamed += 1
            return None
        self._taken += 1
        self._busy[slot] += 1
        self._used[slot] = self._taken
        self._held[slot] = blocks
        return slot

    def give_back(self, slot: int | None) -> None:
        """The request that `take` gave this to is over."""
        if slot is None:
            self._unnamed -= 1
        else:
            self._busy[slot] -= 1

    def _worth(self, slot: int, blocks: Sequence[int]) -> float:
        """Blocks saved by taking this slot over, less those destroyed."""
        held = self._held[slot]
        kept = _common(held, blocks)
        rounds = (self._taken - self._used[slot]) / len(self._held)
        return kept - LOSS * (len(held) - kept) * math.pow(FADING, rounds)


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """Leading blocks that two chains share: a hash covers all before it, so they part once."""
    return bisect_left(range(min(len(one), len(other))), True, key=lambda at: one[at] != other[at])
