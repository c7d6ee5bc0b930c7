"""Members that part requests which begin alike: what each new value of one found cold though others had it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from lint.rule import Location, Sighting
from lint.traffic.seen import Request
from prefix.realign import common_prefix

_LEAST: Final = 256
"""Bytes that two requests with other values must share."""
_TEMPLATES: Final = 512
_KEPT: Final = 16_384
_VALUES: Final = 4096


@dataclass(slots=True)
class _Split:
    """Of one template. view, value: of its latest request, the view no longer than 16 KB. values: hashes of those
    seen."""

    view: bytes
    value: str
    values: set[int] = field(default_factory=set)


class Parting(NamedTuple):
    """What one member cost. where: its first new value. times: how many new values. lost: bytes they found cold.
    requests, bytes: of all that have the member."""

    where: Sighting | None = None
    times: int = 0
    lost: int = 0
    requests: int = 0
    bytes: int = 0


class Values:
    """The values of members, by template."""

    def __init__(self) -> None:
        self._splits: dict[tuple[str, int], _Split] = {}
        self._partings: dict[str, Parting] = {}

    def see(self, name: str, value: str, request: Request) -> None:
        """A request in which this member has this value."""
        known = self._partings.get(name, Parting())
        known = known._replace(requests=known.requests + 1, bytes=known.bytes + len(request.view))
        split = self._splits.get((name, request.template))
        if split is None:
            if len(self._splits) < _TEMPLATES:
                self._splits[name, request.template] = _Split(request.view[:_KEPT], value, {hash(value)})
        else:
            shared = 0
            if hash(value) not in split.values and len(split.values) < _VALUES:
                split.values.add(hash(value))
                shared = common_prefix(split.view, request.view)
            if shared >= _LEAST:
                where = known.where or _where(name, (split.value, value), request)
                known = known._replace(where=where, times=known.times + 1, lost=known.lost + shared)
            split.view, split.value = request.view[:_KEPT], value
        self._partings[name] = known

    def partings(self) -> Iterator[tuple[str, Parting]]:
        """What each member cost."""
        yield from self._partings.items()


def _where(name: str, values: tuple[str, str], request: Request) -> Sighting:
    return Sighting(
        message=f"another /{name} for a prompt that begins as an earlier one",
        values=values,
        location=Location(request.row, 1),
        request=request.number,
        pointer=f"/{name}",
    )
