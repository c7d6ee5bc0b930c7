"""Two templates that are nearly one: each has requests of its own all along, and they part early.

The first request of the second variant loses what both say behind the place where they part; all others find their
own variant cached. So a variant is a request that lost something to other words, with all that come nearest to it.
More than a few of them are no fork but a variable.
"""

from typing import Final

from lint.traffic.generations import Generations
from lint.traffic.losses import WEAK, Loss
from lint.traffic.seen import Request

_MOST: Final = 4
"""Variants of a fork."""
_LEAST: Final = 3
"""Requests that each of them must have."""
_REMEMBERED: Final = 65_536
_TEMPLATES: Final = 4096


class Forks:
    """The variants of each template."""

    def __init__(self) -> None:
        self._variant_of: Generations[int, int] = Generations(_REMEMBERED)
        self._counts: dict[int, list[int]] = {}
        self._turns: dict[int, tuple[int, int]] = {}

    def see(self, request: Request, nearest: Request | None, loss: Loss | None) -> None:
        """Take a request. loss: what it was found to lose."""
        if request.template not in self._counts and len(self._counts) >= _TEMPLATES:
            return
        counts = self._counts.setdefault(request.template, [])
        variant = 0 if nearest is None else (self._variant_of.get(nearest.number) or 0)
        if not counts or (loss is not None and loss.kind in WEAK and len(counts) <= _MOST):
            variant = len(counts)
            counts.append(0)
        counts[variant] += 1
        last, changes = self._turns.get(request.template, (0, 0))
        self._turns[request.template] = variant, changes + (variant != last)
        self._variant_of.set(request.number, variant)

    def is_fork(self, loss: Loss) -> bool:
        """A loss that a few variants have, sent by turns: none replaced another."""
        counts = self._counts.get(loss.template, [])
        _, changes = self._turns.get(loss.template, (0, 0))
        few = 1 < len(counts) <= _MOST and loss.occurrences < len(counts)
        return loss.kind in WEAK and few and min(counts) >= _LEAST and changes > len(counts)
