"""Which request is due when, and for whom: the whole run before it begins.

One idea: a plan has a time of its own, and two targets that are compared get the same plan. `Turns` says when a
moment of it comes for each of them: alone, or both at the same time, or in windows by turns. By turns, the order
within a pair of windows alternates (A B, B A, ...), so that a machine that gets slower or faster favours neither; and
requests of one pair of windows are one pair of samples (`compare`).
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import count, islice, takewhile
from typing import Literal

import msgspec

Interleave = Literal["windows", "requests"]


class Slot(msgspec.Struct, frozen=True, gc=False):
    """One request to be sent. ask: which of the source's. at_s: when, in the plan's own time. after: number of the
    slot that must have ended (the session's previous turn). again: the source was through before this one."""

    number: int
    ask: int
    at_s: float
    after: int | None
    again: bool


def slots(afters: Sequence[int | None], times: Iterable[float]) -> Iterator[Slot]:
    """The source's requests at these times, from its beginning again when they are through.

    afters: for each request the one that must have ended before, or None.
    """
    size = len(afters)
    for number, at_s in zip(count(), times, strict=False):
        first = number - number % size
        before = afters[number - first]
        yield Slot(number, number - first, at_s, None if before is None else first + before, bool(first))


def limited(planned: Iterator[Slot], most: int | None, seconds: float | None) -> Iterator[Slot]:
    """The slots up to a number of them, and up to a moment; None: without this limit."""
    chosen = islice(planned, most)
    return chosen if seconds is None else takewhile(lambda slot: slot.at_s < seconds, chosen)


class Turns(msgspec.Struct, frozen=True):
    """Two targets' turns. window_s: of the plan's time."""

    interleave: Interleave
    window_s: float

    def real_s(self, side: int, at_s: float) -> float:
        """When a moment of the plan comes for a side (0 or 1), in seconds after the start."""
        if self.interleave == "requests":
            return at_s
        pair = self.pair(at_s)
        return at_s + self.window_s * (pair + (side ^ pair & 1))

    def pair(self, at_s: float) -> int:
        """The pair of windows that a moment of the plan belongs to."""
        return int(at_s // self.window_s)

    def plan_s(self, side: int, real_s: float) -> float:
        """What a side's plan time is at a real moment: it stands still in the other's windows."""
        if self.interleave == "requests":
            return real_s
        pair, rest = divmod(real_s, 2 * self.window_s)
        begin = self.window_s * (side ^ int(pair) & 1)
        return pair * self.window_s + min(max(rest - begin, 0.0), self.window_s)

    def is_on(self, side: int, real_s: float) -> bool:
        """Whether a side has its turn."""
        half = int(real_s // self.window_s)
        return self.interleave == "requests" or (half & 1) == (side ^ (half >> 1) & 1)


ALONE = Turns("requests", 1.0)
