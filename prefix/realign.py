"""What two texts still share behind the place where they part: the text a better prompt would have had cached.

A prefix cache stops at the first difference. What comes again behind it was lost to the difference, not to being
new: move the clock, sort the list, and it is cached. That is the measure of a divergence that needs no pattern
("ask what is recoverable": a linter's finding ranks by it, `prefixgate diff` and telemetry report it).

Found as rsync finds blocks: every GRID-th window of the one text (behind the difference) is remembered by hash, the
other text is scanned for them at every place, and a hit is extended both ways as far as the texts agree. A run counts
wherever it stands, so that a list in another order is as recoverable as text behind a clock. The scan goes on behind
each run and never back: the work is linear in both texts, repetitive ones too.
"""

from collections.abc import Callable
from typing import AnyStr, NamedTuple

WINDOW = 64
"""Shorter runs are not looked for: they are syntax and common words, not text that was lost."""

GRID = WINDOW // 2
"""Any run that is this much longer than WINDOW is found."""
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
    while same < limit and a[start_a + same : start_a + same + step] == b[start_b + same : start_b + same + step]:
        same += step
        step *= 2
    if same >= limit:
        return limit
    least, most = same, same + step  # they agree up to the one and, if they reach so far, not up to the other
    while most - least > 1:
        middle = (least + most) // 2
        if a[start_a + least : start_a + middle] == b[start_b + least : start_b + middle]:
            least = middle
        else:
            most = middle
    return min(limit, least)


def realign(a: AnyStr, b: AnyStr, start: int) -> list[Run]:
    """The runs of `b` behind `start` that stand somewhere in `a` behind `start`: in the order of `b`, disjoint there.

    start: length of the common prefix of the two. The sum of the lengths is what is recoverable of `b`.
    """
    find, otherwise, step = _finder(a, start)
    runs: list[Run] = []
    at = done = start
    last = len(b) - WINDOW
    while at <= last:
        hit = find(b[at : at + WINDOW], otherwise)
        if hit < 0:
            at += step
            continue
        back, most = 0, min(hit - start, at - done, WINDOW)
        while back < most and a[hit - back - 1] == b[at - back - 1]:
            back += 1
        ahead = WINDOW + common_prefix(a, b, hit + WINDOW, at + WINDOW)
        runs.append(Run(hit - back, at - back, back + ahead))
        at = done = at + ahead
    return runs


def _places(text: AnyStr, start: int) -> dict[AnyStr, int]:
    """Every GRID-th window behind `start`; of equal ones the first."""
    end = len(text) - WINDOW
    last = end - (end - start) % GRID
    return {text[place : place + WINDOW]: place for place in range(last, start - 1, -GRID)}


def _finder(a: AnyStr, start: int) -> tuple[Callable[[AnyStr, int], int], int, int]:
    """What tells where a window stands in `a` from `start` on, -1 for nowhere; its second argument; and from how many
    places of the other text it has to be asked. A short text is searched as it is, of a long one every other window
    is remembered."""
    if len(a) - start <= _SHORT:
        return a.find, start, GRID
    return _places(a, start).get, -1, 1
