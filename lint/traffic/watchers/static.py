"""What all requests of a template begin with: too short to be cached at all, or ending in the middle of a word.

The first request of each template is kept, and how far every other one agrees with it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from lint.breakpoints import model_of
from lint.providers import smallest_prefix
from lint.rule import Location, Sighting
from lint.traffic.losses import Loss
from lint.traffic.watcher import Exchange, Note
from prefix.realign import common_prefix
from prefix.tokens import BYTES_PER_TOKEN

_TEMPLATES: Final = 512
_KEPT: Final = 32_768
_SHARED: Final = 256
"""Bytes that must come again with each request before it is worth a word that they are too few."""
_SURE: Final = 0.8
"""Tokens are estimated: only what is this far below a minimum is said to be."""
_REQUESTS: Final = 4
_MANY: Final = 8
_OPENINGS: Final = 6
_JOINS: Final = frozenset(b"_-/:=(#@.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
_BACKSLASH: Final = ord("\\")


@dataclass(slots=True)
class _Template:
    """model, number, row, view: of its first request, the view no longer than 32 KB. common: bytes that all share.
    most: that any two share. openings: the bytes that come next."""

    model: str
    number: int
    row: int
    view: bytes
    common: int
    most: int = 0
    count: int = 0
    openings: set[int] = field(default_factory=set)


class Static:
    """The beginnings of templates."""

    def __init__(self) -> None:
        self._templates: dict[int, _Template] = {}

    def see(self, exchange: Exchange) -> None:
        """Compare a request with the first of its template."""
        request = exchange.request
        known = self._templates.get(request.template)
        if known is None:
            if len(self._templates) >= _TEMPLATES:
                return
            view = request.view[:_KEPT]
            known = _Template(model_of(request.body), request.number, request.row, view, len(view))
            self._templates[request.template] = known
        known.count += 1
        known.most = max(known.most, exchange.cached)
        same = common_prefix(known.view, request.view)
        if same < known.common:
            known.common = same
            known.openings = {*known.view[same : same + 1]}
        if len(known.openings) < _OPENINGS:
            known.openings.update(request.view[known.common : known.common + 1])

    def notes(self, losses: Sequence[Loss]) -> Iterator[Note]:
        """One per minimum and one per edge; nothing of templates that lose more than that."""
        lossy = {loss.template for loss in losses}
        whole = [one for template, one in self._templates.items() if template not in lossy]
        yield from _below_minimum([one for one in whole if one.count >= _REQUESTS])
        yield from (_straddle(one) for one in whole if one.count >= _MANY and _ends_in_a_word(one))


def _below_minimum(templates: list[_Template]) -> Iterator[Note]:
    by_minimum: dict[int, list[_Template]] = {}
    for one in templates:
        least = smallest_prefix(one.model)
        if least is not None and _SHARED <= one.most < least.tokens * BYTES_PER_TOKEN * _SURE:
            by_minimum.setdefault(least.tokens, []).append(one)
    for tokens, found in by_minimum.items():
        first = found[0]
        requests = sum(one.count for one in found)
        shared = round(max(one.most for one in found) / BYTES_PER_TOKEN)
        yield Note(
            "below_minimum",
            Sighting(
                message=(
                    f"{requests:,} requests share about {shared:,} tokens at most, and {first.model}"
                    f" caches no prefix shorter than {tokens:,}"
                ),
                location=Location(first.row, 1),
                request=first.number,
                occurrences=requests,
            ),
        )


def _ends_in_a_word(one: _Template) -> bool:
    """A joining character before, letters behind, a different one in nearly every request."""
    before, at = one.view, one.common
    if at < _SHARED or len(one.openings) < _OPENINGS or before[at - 2] == _BACKSLASH:
        return False
    return before[at - 1] in _JOINS and all(chr(byte).isalpha() for byte in one.openings)


def _straddle(one: _Template) -> Note:
    tokens = round(one.common / BYTES_PER_TOKEN)
    return Note(
        "straddle",
        Sighting(
            message=(
                f"the static text of {one.count:,} requests ends inside a word, at about token {tokens:,}: its last"
                " token is another one in each of them"
            ),
            values=(one.view[max(0, one.common - 24) : one.common].decode(errors="replace"),),
            location=Location(one.row, 1),
            request=one.number,
            occurrences=one.count,
        ),
    )
