"""Causes that are known already: asking why two prompts part costs more than all else, and a log asks it of one place
thousands of times.

A value that parted prompts behind the same beginning, at the same place, SURE times in a row for the same cause is
taken to do so again; it is asked anew whenever the count has doubled. Where every request parts at another place
(shuffled examples), one in SAMPLED is asked once a template has had MANY, and stands for those up to the next one.
"""

from dataclasses import dataclass, replace
from typing import Final

import xxhash

from lint.traffic.seen import Request
from prefix.causes import Cause, find_cause
from prefix.divergence import first_divergence

_SURE: Final = 8
_MANY: Final = 64
_SAMPLED: Final = 64
LONGEST_VALUE: Final = 4096
_PLACES: Final = 8
_TEMPLATES: Final = 4096


@dataclass(slots=True)
class _Place:
    """A value in the view of a template: bytes start to end, behind a beginning with this hash."""

    cause: Cause
    start: int
    end: int
    beginning: int
    times: int = 1

    def holds(self, view: bytes, same: int) -> bool:
        return self.start <= same <= self.end and xxhash.xxh3_64_intdigest(view[: self.start]) == self.beginning


class KnownCauses:
    """Causes by template and place."""

    def __init__(self) -> None:
        self._places: dict[int, list[_Place]] = {}
        self._asked: dict[int, tuple[int, Cause | None]] = {}

    def cause(self, prior: Request, request: Request, same: int) -> Cause | None:
        """Why two requests part. same: bytes that their views share."""
        places = self._places.get(request.template, [])
        place = next((place for place in places if place.holds(request.view, same)), None)
        if place is not None and place.times >= _SURE and place.times & (place.times - 1):
            place.times += 1
            return place.cause
        times, last = self._asked.get(request.template, (0, None))
        if times > _MANY and times % _SAMPLED:
            self._asked[request.template] = times + 1, last
            return last
        where = first_divergence(prior.body, request.body)
        cause = _short(find_cause(prior.body, request.body, where))
        if times or len(self._asked) < _TEMPLATES:
            self._asked[request.template] = times + 1, cause
        if place is not None and cause is not None and _alike(place.cause, cause):
            place.times += 1
        elif cause is not None and where is not None and cause.offset is not None and where.char_offset is not None:
            self._learn(request, cause, same - (where.char_offset - cause.offset), place)
        return cause

    def _learn(self, request: Request, cause: Cause, start: int, instead_of: _Place | None) -> None:
        """Remember a value; what of it is escaped or outside ASCII only makes the place less often recognised."""
        start = max(0, start)
        size = max(len(cause.a or ""), len(cause.b or ""))
        beginning = xxhash.xxh3_64_intdigest(request.view[:start])
        if request.template not in self._places and len(self._places) >= _TEMPLATES:
            return
        places = self._places.setdefault(request.template, [])
        kept = [place for place in places if place is not instead_of]
        places[:] = [*kept[-_PLACES + 1 :], _Place(cause, start, start + size, beginning)]


def _short(cause: Cause | None) -> Cause | None:
    """A cause is kept for as long as the log is: not with a whole document in it."""
    if cause is None or max(len(cause.a or ""), len(cause.b or "")) <= LONGEST_VALUE:
        return cause
    a, b = (value and value[:LONGEST_VALUE] for value in (cause.a, cause.b))
    return replace(cause, a=a, b=b)


def _alike(known: Cause, cause: Cause) -> bool:
    return (known.kind, known.path, known.offset) == (cause.kind, cause.path, cause.offset)
