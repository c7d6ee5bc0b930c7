"""Requests for which the engine does not read its cache, though other requests wrote what they begin with."""

from collections.abc import Iterator, Sequence
from typing import Final

from lint.bypass import bypass
from lint.rule import Location, Sighting
from lint.traffic.losses import Loss
from lint.traffic.watcher import Exchange, Note

_LEAST: Final = 256
"""Bytes that must be shared before it matters."""


class Bypassed:
    """Counts them by the parameter that does it."""

    def __init__(self) -> None:
        self._found: dict[str, Sighting] = {}
        self._bytes: dict[str, tuple[int, int]] = {}
        self._total = 0

    def see(self, exchange: Exchange) -> None:
        """One lookup of a few members for a request without them."""
        request = exchange.request
        self._total += len(request.view)
        found = bypass(request.body)
        if found is None or exchange.cached < _LEAST:
            return
        count, lost = self._bytes.get(found.name, (0, 0))
        self._bytes[found.name] = count + 1, lost + exchange.cached
        self._found.setdefault(
            found.name,
            Sighting(
                message=f"{found.name}: {found.why}",
                location=Location(request.row, 1),
                request=request.number,
                pointer=f"/{found.name}",
            ),
        )

    def notes(self, _losses: Sequence[Loss]) -> Iterator[Note]:
        """One per parameter."""
        for name, sighting in self._found.items():
            count, lost = self._bytes[name]
            yield Note.counted("bypass", sighting, count, lost, self._total)
