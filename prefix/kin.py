"""Which recent prompt a prompt was made like: the one to compare with when hardly anything in front is shared.

One idea: block hashes find what begins alike, and a clock in front leaves nothing to find. But the same program makes
prompts of the same version (prefix.prompt_version masks what moves), and prompts that hold one document or go on with
one conversation have a message in common, known by how it begins. So: of the same version the last prompt with one of
the latest messages in it, else with the same first message behind the system's, else the last one. Bounded, the entry
not renewed for the longest time out first.
"""

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from typing import Final, Generic, TypeVar

import xxhash

from prefix.history import Finished
from prefix.view import MESSAGE

Version = tuple[int, str | None]
"""A prompt version in the namespace of this seed; None: the prompt has none."""

_KEPT: Final = 8192
_OPENING: Final = 64
_LATEST: Final = 4
"""Messages of a prompt's end that are looked at: those before were its former turns' latest, if these were short."""


Source = TypeVar("Source")


class Kin(Generic[Source]):
    """Recent prompts by version, and by version and message."""

    __slots__ = ("_latest",)

    def __init__(self) -> None:
        self._latest: OrderedDict[Hashable, Finished[Source]] = OrderedDict()

    def find(self, text: bytes, version: Version) -> Finished[Source] | None:
        """The prompt that the one with this view was made like, if one is still there."""
        for opening in _openings(text):
            prompt = self._latest.get((version, opening))
            if prompt is not None and prompt.source is not None:
                return prompt
        prompt = self._latest.get(version) if version[1] is not None else None
        return prompt if prompt is not None and prompt.source is not None else None

    def learn(self, version: Version, prompt: Finished[Source]) -> None:
        """A prompt of this version was finished."""
        latest = self._latest
        for key in (version, *[(version, opening) for opening in _openings(prompt.text)]):
            latest[key] = prompt
            latest.move_to_end(key)
        while len(latest) > _KEPT:
            latest.popitem(last=False)


def _openings(text: bytes) -> Iterator[int]:
    """Hashes of how the latest messages of a view begin, the last one first, then of the second of all.

    None of what is too short to tell.
    """
    at = len(text)
    for _ in range(_LATEST):
        at = text.rfind(MESSAGE, 0, at)
        if at < 0:
            return
        if len(text) - at >= _OPENING:
            yield xxhash.xxh3_64_intdigest(text[at : at + _OPENING])
    second = text.find(MESSAGE, text.find(MESSAGE) + 1)
    if second < at:
        yield xxhash.xxh3_64_intdigest(text[second : second + _OPENING])
