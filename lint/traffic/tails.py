"""What comes again behind a difference: constant text, the same pieces in another order, or pieces of a pool.

Text behind a difference could have been cached if it stood in front, but only if it is the same in all requests:
documents that two questions happen to have in common could not. Constant text ends the same way each time, so the
ends of the runs that came again are counted. And pieces that all come again between the difference and the last of
them are one set in another order; where a good part does not, it is another choice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import xxhash

from lint.traffic.losses import WEAK, Loss
from lint.traffic.seen import Request
from prefix.realign import Run

_TAIL: Final = 256
_ANCHOR: Final = 32
_DIFFERENT: Final = 16
_MOST: Final = 4096
_ORDERED: Final = "text_order"
_ALL: Final = 256
"""So many losses of a template are looked at, then one in SAMPLED."""
_SAMPLED: Final = 16


@dataclass(slots=True)
class _Behind:
    """ends: how often each end was seen, by hash. seen: losses, all of them; losses: those looked at. behind, again:
    bytes behind the difference without the longest run, and those of them that came again."""

    ends: dict[int, int] = field(default_factory=dict)
    seen: int = 0
    losses: int = 0
    behind: int = 0
    again: int = 0


class Tails:
    """What came again, by template, for losses to words and to their order."""

    def __init__(self) -> None:
        self._behind: dict[int, _Behind] = {}

    def see(self, request: Request, kind: str, same: int, runs: Sequence[Run]) -> None:
        """Take the runs of a loss. same: bytes before the difference."""
        key = request.template
        if (
            not runs
            or (kind not in WEAK and kind != _ORDERED)
            or (key not in self._behind and len(self._behind) >= _MOST)
        ):
            return
        behind = self._behind.setdefault(key, _Behind())
        behind.seen += 1
        if behind.seen > _ALL and behind.seen % _SAMPLED:
            return
        longest = max(runs, key=lambda run: run.length)
        end = longest.b + longest.length
        tail = _anchor(request.view[max(longest.b, end - _TAIL) : end])
        if tail in behind.ends or len(behind.ends) < _DIFFERENT:
            behind.ends[tail] = behind.ends.get(tail, 0) + 1
        behind.losses += 1
        behind.behind += len(request.view) - same - longest.length
        behind.again += sum(run.length for run in runs) - longest.length

    def are_constant(self, loss: Loss) -> bool:
        """Some end comes again and again."""
        behind = self._behind.get(loss.template)
        if behind is None or behind.losses < 2:
            return True
        most = max(behind.ends.values())
        return most > 1 and most * 4 >= behind.losses

    def are_one_set(self, loss: Loss) -> bool:
        """The pieces are the same ones, in another order."""
        behind = self._behind.get(loss.template)
        return behind is not None and behind.again * 2 >= behind.behind


def _anchor(tail: bytes) -> int:
    """What names the end of a run whether it reaches a few bytes further by chance or not: its least piece."""
    pieces = [tail[at : at + _ANCHOR] for at in range(max(1, len(tail) - _ANCHOR + 1))]
    return xxhash.xxh3_64_intdigest(min(pieces))
