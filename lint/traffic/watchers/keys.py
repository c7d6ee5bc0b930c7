"""Keys that part what could be shared: nearly every request has a value of its own.

`prompt_cache_key` chooses the machine that may have the prefix; `cache_salt`, `extra_key` and an adapter keep whole
caches apart. A few values are a design, one per request is a cache that is always empty.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from lint.rule import Location, Sighting
from lint.traffic.losses import SOME, Loss
from lint.traffic.seen import Request
from lint.traffic.watcher import Exchange, Note
from prefix.realign import common_prefix

_NAMES: Final = ("prompt_cache_key", "cache_salt", "extra_key", "lora_path")
_LEAST: Final = 256
"""Bytes that two requests with other values must share."""
_TEMPLATES: Final = 512
_KEPT: Final = 65_536
_VALUES: Final = 4096
_FEW: Final = 3


@dataclass(slots=True)
class _Split:
    """Of one template. view, value: of its latest request, the view no longer than 64 KB. values: hashes of those
    seen."""

    view: bytes
    value: str
    values: set[int] = field(default_factory=set)


class Keys:
    """What each new value of a key found cold though others had it."""

    def __init__(self) -> None:
        self._splits: dict[tuple[str, int], _Split] = {}
        self._found: dict[str, tuple[Sighting, int, int]] = {}
        self._bytes: dict[str, int] = {}

    def see(self, exchange: Exchange) -> None:
        """A lookup of four members for a request without them."""
        body = exchange.request.body
        for name in _NAMES:
            value = body.get(name)
            if isinstance(value, str):
                self._see(name, value, exchange.request)

    def _see(self, name: str, value: str, request: Request) -> None:
        self._bytes[name] = self._bytes.get(name, 0) + len(request.view)
        key = name, request.template
        split = self._splits.get(key)
        if split is None:
            if len(self._splits) < _TEMPLATES:
                self._splits[key] = _Split(request.view[:_KEPT], value, {hash(value)})
            return
        if hash(value) not in split.values and len(split.values) < _VALUES:
            split.values.add(hash(value))
            shared = common_prefix(split.view, request.view)
            if shared >= _LEAST:
                self._count(name, (split.value, value), request, shared)
        split.view, split.value = request.view[:_KEPT], value

    def _count(self, name: str, values: tuple[str, str], request: Request, shared: int) -> None:
        new = Sighting(
            message=f"another /{name} for a prompt that begins as an earlier one",
            values=values,
            location=Location(request.row, 1),
            request=request.number,
            pointer=f"/{name}",
        )
        sighting, count, lost = self._found.get(name, (new, 0, 0))
        self._found[name] = sighting, count + 1, lost + shared

    def notes(self, _losses: Sequence[Loss]) -> Iterator[Note]:
        """One per key that costs something; adapters are seldom a choice, so they are a hint."""
        for name, (sighting, count, lost) in self._found.items():
            note = Note.counted("key_too_fine", sighting, count, lost, self._bytes[name])
            if count >= _FEW and note.share is not None and note.share >= SOME:
                hint = replace(note.sighting, severity="info") if name == "lora_path" else note.sighting
                yield note._replace(sighting=hint)
