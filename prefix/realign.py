"""What two texts still share behind the place where they part: the text a better prompt would have had cached.

A prefix cache stops at the first difference. What comes again behind it was lost to the difference, not to being
new: move the clock, sort the list, and it is cached. That is the measure of a divergence that needs no pattern
("ask what is recoverable": a linter's finding ranks by it, `prefixgate diff` and telemetry report it).

Found as rsync finds blocks: every WINDOW-th window of the one text (behind the difference) is remembered by hash, the
other text is scanned for them at every place, and a hit is extended both ways as far as the texts agree. A run counts
wherever it stands, so that a list in another order is as recoverable as text behind a clock. The scan goes on behind
each run and never back: the work is linear in both texts, repetitive ones too.
"""

from collections.abc import Callable
from typing import AnyStr, NamedTuple

WINDOW = 64
"""Shorter runs are not looked for: they are syntax and common words, not text that was lost."""

_SHORT = 16_384


class Run(NamedTuple):
    """A stretch of text that stands in both: at `a` in the one, at `b` in the other, `length` units long."""

    a: int
    b: int
    length: int


def common_prefix(a: AnyStr, b: AnyStr, start_a: int = 0, start_b: int = 0) -> int:
    """How many units (bytes or code points) of `a` from `start_a` on equal those of `b` from `start_b` on."""
    limit = min(len(a) - start_a, len(b) - start_b)
    same, step = 0, WINDOW
    while step:
        to = min(same + step, limit)
        if a[start_a + same : start_a + to] == b[start_b + same : start_b + to]:
            if to == limit:
                return limit
            same, step = to, step * 2
        else:
            step = (to - same) // 2
    return same


def realign(a: AnyStr, b: AnyStr, start: int) -> list[Run]:
    """The runs of `b` behind `start` that stand somewhere in `a` behind `start`: in the order of `b`, disjoint there.

    start: length of the common prefix of the two. The sum of the lengths is what is recoverable of `b`.
    """
    find, step = _finder(a, start)
    runs: list[Run] = []
    at = done = start
    while at + WINDOW <= len(b):
        hit = find(b[at : at + WINDOW])
        if hit < 0:
            at += step
            continue
        run = _widest(a, b, Run(hit, at, WINDOW), start, done)
        runs.append(run)
        at = done = run.b + run.length
    return runs


def _finder(a: AnyStr, start: int) -> tuple[Callable[[AnyStr], int], int]:
    """Where a window stands in `a` from `start` on, -1 for nowhere; and from how many places of the other text it
    has to be asked. A short text is searched as it is, of a long one every other window is remembered."""
    if len(a) - start <= _SHORT:
        return lambda window: a.find(window, start), WINDOW // 2
    places: dict[AnyStr, int] = {}
    for place in range(start, len(a) - WINDOW + 1, WINDOW // 2):
        places.setdefault(a[place : place + WINDOW], place)
    return lambda window: places.get(window, -1), 1


def _widest(a: AnyStr, b: AnyStr, run: Run, start: int, done: int) -> Run:
    """The run extended to both sides: in `a` not before `start`, in `b` not before `done`."""
    back = 0
    most = min(run.a - start, run.b - done, WINDOW)
    while back < most and a[run.a - back - 1] == b[run.b - back - 1]:
        back += 1
    ahead = common_prefix(a, b, run.a + run.length, run.b + run.length)
    return Run(run.a - back, run.b - back, back + run.length + ahead)
