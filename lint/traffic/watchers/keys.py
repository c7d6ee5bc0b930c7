"""Keys that part what could be shared: nearly every request has a value of its own.

`prompt_cache_key` chooses the machine that may have the prefix; `cache_salt`, `extra_key` and an adapter keep whole
caches apart. A few values are a design, one per request is a cache that is always empty.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from lint.traffic.losses import SOME, Loss
from lint.traffic.watcher import Exchange, Note
from lint.traffic.watchers.values import Values

_NAMES: Final = ("prompt_cache_key", "cache_salt", "extra_key", "lora_path")
_FEW: Final = 3


class Keys:
    """What each new value of a key found cold though others had it."""

    def __init__(self) -> None:
        self._values = Values()

    def see(self, exchange: Exchange) -> None:
        """A lookup of four members for a request without them."""
        for name in _NAMES:
            value = exchange.request.body.get(name)
            if isinstance(value, str):
                self._values.see(name, value, exchange.request)

    def notes(self, _losses: Sequence[Loss]) -> Iterator[Note]:
        """One per key that costs something; adapters are seldom a choice, so they are a hint."""
        for name, parting in self._values.partings():
            if parting.where is None or parting.times < _FEW or parting.lost < SOME * parting.bytes:
                continue
            note = Note.counted("key_too_fine", parting.where, parting.times, parting.lost, parting.bytes)
            hint = replace(note.sighting, severity="info") if name == "lora_path" else note.sighting
            yield note._replace(sighting=hint)
