"""Whether what stands behind a difference is always the same text.

Text that comes again behind a difference could have been cached if it stood in front, but only if it is the same in
all requests: documents that two questions happen to have in common could not. So for losses that have no name but
"other words", the ends of the runs that came again are counted: constant text ends the same way each time.
"""

from typing import Final

import xxhash

from lint.traffic.losses import WEAK, Loss
from lint.traffic.seen import Request
from prefix.realign import Run

_TAIL: Final = 32
_DIFFERENT: Final = 16
_FEW: Final = 4
"""Occurrences with which nothing can be said yet."""
_MOST: Final = 4096


class Tails:
    """The ends of runs, by template and kind of loss."""

    def __init__(self) -> None:
        self._ends: dict[tuple[int, str], dict[int, int]] = {}

    def see(self, request: Request, kind: str, runs: list[Run]) -> None:
        """Count the end of the longest run of a loss."""
        if kind not in WEAK or not runs:
            return
        key = request.template, kind
        if key not in self._ends and len(self._ends) >= _MOST:
            return
        ends = self._ends.setdefault(key, {})
        run = max(runs, key=lambda run: run.length)
        end = run.b + run.length
        tail = xxhash.xxh3_64_intdigest(request.view[max(0, end - _TAIL) : end])
        if tail in ends or len(ends) < _DIFFERENT:
            ends[tail] = ends.get(tail, 0) + 1

    def are_constant(self, loss: Loss) -> bool:
        """Some end comes again and again."""
        ends = self._ends.get((loss.template, loss.kind))
        if loss.kind not in WEAK or ends is None or loss.occurrences < _FEW:
            return True
        return max(ends.values()) * 4 >= loss.occurrences
