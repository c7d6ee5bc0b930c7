"""What parts a version's prompts from those before them, and what each cause costs: exact sums, few examinations.

Two bodies are compared only now and then (gateway.causes), since that takes milliseconds. But what parts prompts
stands at a place: prompts of one version that part within the same 64 bytes of their views mostly do so for one
cause, a clock, say. So what was found there last is what the next ones are put down to; the second, fourth, eighth...
and then each 256th of them is examined again, since the first prompts of a version part from those of another. What
nobody has looked at yet is counted as such: the tokens of a version's causes and of the unexplained add up to its
`divergent` tokens, always.

Bounded: so many places (the one not met for the longest time is forgotten, and what was pending there is unexplained
for good), so many causes per version. For one thread. No text is kept: of values only how long they are.
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from prefix.causes import Cause
from telemetry.catalog import HIT_RATE_CHANGE
from telemetry.cells import Cells, Key

PLACES: Final = 8192
CAUSES: Final = 32
"""Of one version; what further ones cost stays unexplained."""

_SELDOM: Final = 256
_REGION: Final = 64
_LONGEST: Final = 256
"""Characters kept of a pointer, which holds names of a client's making."""

PlaceName = tuple[str, str | None, int]
"""Route, prompt version as it came, and which 64 bytes."""
_Name = tuple[str, str]


@dataclass(slots=True)
class Loss:
    """What one cause cost one version. cause: None for what is unexplained. offset, offset_end: the least and the
    largest seen. sizes: characters of the two differing values, None where there is none. request_id: of the last."""

    cause: Cause | None = None
    offset: int | None = None
    offset_end: int | None = None
    sizes: tuple[int | None, int | None] = (None, None)
    requests: int = 0
    tokens: int = 0
    request_id: str = ""

    def count(self, requests: int, tokens: int, request_id: str) -> None:
        """Adds requests."""
        self.requests += requests
        self.tokens += tokens
        self.request_id = request_id


@dataclass(slots=True)
class _Losses:
    """Of one version, by kind and pointer."""

    causes: dict[_Name, Loss] = field(default_factory=dict)
    unexplained: Loss = field(default_factory=Loss)


class _Versions(Cells[_Losses]):
    def _new(self) -> _Losses:
        return _Losses()


@dataclass(slots=True)
class _Place:
    """Where prompts of one version part. loss: what it is put down to, None while nobody has looked. seen: requests;
    due: the first that is to be examined next. requests, tokens: still to be put down to what that finds."""

    losses: _Losses
    loss: Loss | None = None
    seen: int = 0
    due: int = 1
    requests: int = 0
    tokens: int = 0


class Partings:
    """By route and version label, as telemetry.versions."""

    def __init__(self) -> None:
        self._versions = _Versions(HIT_RATE_CHANGE)
        self._places: OrderedDict[PlaceName, _Place] = OrderedDict()

    def record(
        self, key: Key, version: str | None, tokens: int, request_id: str, parted: int | None, *, free: bool
    ) -> PlaceName | None:
        """Counts one request with `divergent` tokens; its place, to be explained, when it is to be examined.

        key: route and version label; version: as it came, which keeps apart what is counted together under `other`.
        parted: the byte of its view where it parts, None when its body is no longer there. free: whether there is
        time to examine it.
        """
        losses = self._versions[key]
        if parted is None:
            losses.unexplained.count(1, tokens, request_id)
            return None
        name = key[0], version, parted // _REGION
        place = self._places.get(name)
        if place is None:
            place = self._places[name] = _Place(losses)
            if len(self._places) > PLACES:
                self._places.popitem(last=False)
        self._places.move_to_end(name)
        place.seen += 1
        examined = free and place.seen >= place.due
        if place.loss is not None and not examined:
            place.loss.count(1, tokens, request_id)
            return None
        losses.unexplained.count(1, tokens, request_id)
        place.requests += 1
        place.tokens += tokens
        return name if examined else None

    def explain(self, name: PlaceName, request_id: str, cause: Cause | None) -> None:
        """A request was examined: what waits at its place is put down to its cause. None: none was seen."""
        place = self._places.get(name)
        if place is None:
            return
        unexplained = place.losses.unexplained
        place.loss = unexplained if cause is None else _loss(place.losses, cause)
        if place.loss is not unexplained:
            unexplained.requests -= place.requests
            unexplained.tokens -= place.tokens
            place.loss.count(place.requests, place.tokens, request_id)
        place.requests = place.tokens = 0
        place.due = place.seen + min(place.seen, _SELDOM)

    def of(self, key: Key) -> Iterator[Loss]:
        """What a version lost, the dearest cause first; those that are unexplained last, if there are any."""
        losses = self._versions.get(key)
        if losses is not None:
            yield from sorted(losses.causes.values(), key=lambda loss: -loss.tokens)
            if losses.unexplained.requests:
                yield losses.unexplained


def _loss(losses: _Losses, cause: Cause) -> Loss:
    """Where to count this cause; among the unexplained when there are too many."""
    name = cause.kind, cause.path[:_LONGEST]
    loss = losses.causes.get(name)
    if loss is None:
        if len(losses.causes) >= CAUSES:
            return losses.unexplained
        loss = losses.causes[name] = Loss()
    offsets = [each for each in (loss.offset, loss.offset_end, cause.offset) if each is not None]
    loss.offset, loss.offset_end = (min(offsets), max(offsets)) if offsets else (None, None)
    loss.sizes = _size(cause.a), _size(cause.b)
    loss.cause = Cause(cause.kind, cause.path[:_LONGEST], cause.offset, None, None)
    return loss


def _size(value: str | None) -> int | None:
    return None if value is None else len(value)
