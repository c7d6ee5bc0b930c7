"""What is wrong with the breakpoints of single requests (lint.breakpoints), counted over a log.

In a log more is known than in one body: a missing breakpoint costs what the prompt shares with an earlier one, and a
single odd request is no finding.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from lint.breakpoints import Fault, faults, model_of
from lint.providers import smallest_prefix
from lint.rule import Location, Sighting
from lint.traffic.losses import Loss
from lint.traffic.seen import Request
from lint.traffic.watcher import Exchange, Note
from prefix.tokens import BYTES_PER_TOKEN

_FEW: Final = 3
_COSTS: Final = frozenset(("no_breakpoint",))
_ALWAYS: Final = frozenset(("breakpoint_limit", "ttl_order"))
"""Refused by the API: once is enough."""


class _Found:
    """A fault, as often as it was seen."""

    def __init__(self, fault: Fault, request: Request) -> None:
        self.where = Sighting(
            message=fault.message, location=Location(request.row, 1), request=request.number, pointer=fault.pointer
        )
        self.count = self.lost = 0


class Marks:
    """Faults by kind."""

    def __init__(self) -> None:
        self._found: dict[str, _Found] = {}
        self._bytes = 0

    def see(self, exchange: Exchange) -> None:
        """Nothing for models that need no breakpoints."""
        if not exchange.blocks:
            return
        self._bytes += len(exchange.request.view)
        least = smallest_prefix(model_of(exchange.logged.body))
        for fault in faults(exchange.logged.body, exchange.blocks):
            if fault.kind in _COSTS and least and exchange.cached < least.tokens * BYTES_PER_TOKEN:
                continue  # nothing that comes again is long enough
            found = self._found.setdefault(fault.kind, _Found(fault, exchange.request))
            found.count += 1
            found.lost += exchange.cached

    def notes(self, _losses: Sequence[Loss]) -> Iterator[Note]:
        """One per kind."""
        for kind, found in self._found.items():
            if found.count < _FEW and kind not in _ALWAYS:
                continue
            sighting = replace(found.where, occurrences=found.count)
            if kind in _COSTS:
                yield Note.counted(kind, sighting, found.count, found.lost, self._bytes)
            else:
                yield Note(kind, sighting)
