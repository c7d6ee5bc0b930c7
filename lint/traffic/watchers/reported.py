"""Prompts that were equal to an earlier one and were computed again all the same.

The log says how many tokens were found cached; what an earlier prompt had in common says how many could have been.
Where the first is far below the second and the prompt did not change, capacity or time lost the prefix, and no edit
of a prompt brings it back. Needs reported cached tokens, with at least one hit in the log: zeros alone may mean that
nothing is reported.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from lint.rule import Location, Sighting
from lint.traffic.generations import Generations
from lint.traffic.logged import Logged
from lint.traffic.losses import Loss
from lint.traffic.watcher import Exchange, Note
from prefix.tokens import BYTES_PER_TOKEN

_LEAST: Final = 256
"""Tokens that must have been expected."""
_FOUND: Final = 0.25
"""Of them: with more than this found, the rest is rounding and estimate."""
_REMEMBERED: Final = 1 << 14


class Reported:
    """What was found cached, beside what an earlier prompt shared."""

    def __init__(self) -> None:
        self._logged: Generations[int, Logged] = Generations(_REMEMBERED)
        self._hit = False
        self._first: Sighting | None = None
        self._count = self._lost = self._bytes = 0

    def see(self, exchange: Exchange) -> None:
        """Nothing for a log that reports no cached tokens."""
        logged, nearest = exchange.logged, exchange.nearest
        if logged.cached_tokens is None:
            return
        self._hit |= logged.cached_tokens > 0
        self._bytes += len(exchange.request.view)
        earlier = self._logged.get(nearest.number) if nearest is not None else None
        if earlier is not None and _could_have(earlier, logged):
            self._compare(exchange, logged)
        self._logged.set(exchange.request.number, logged.without_texts())

    def _compare(self, exchange: Exchange, logged: Logged) -> None:
        request = exchange.request
        expected = exchange.cached / _bytes_per_token(len(request.view), logged)
        if expected < _LEAST or (logged.cached_tokens or 0) > _FOUND * expected:
            return
        if self._first is None:
            self._first = Sighting(
                message=(
                    f"the prompt begins as an earlier one for about {expected:,.0f} tokens, of which"
                    f" {logged.cached_tokens or 0:,} were found cached: lost to capacity or time, not to a change"
                ),
                location=Location(request.row, 1),
                request=request.number,
            )
        self._count += 1
        self._lost += exchange.cached

    def notes(self, _losses: Sequence[Loss]) -> Iterator[Note]:
        """One for the log."""
        if self._first is not None and self._hit:
            note = Note.counted("evicted", self._first, self._count, self._lost, self._bytes)
            yield note._replace(sighting=replace(note.sighting, severity="info"))


def _could_have(earlier: Logged, logged: Logged) -> bool:
    """The earlier one was computed on the same worker, as far as is known, and before this one began."""
    if earlier.worker is not None and logged.worker is not None and earlier.worker != logged.worker:
        return False
    computed = earlier.first if earlier.first is not None else earlier.ended
    return computed is None or logged.started is None or computed <= logged.started


def _bytes_per_token(size: int, logged: Logged) -> float:
    return max(1.0, size / logged.input_tokens) if logged.input_tokens else BYTES_PER_TOKEN
