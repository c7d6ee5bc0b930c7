"""Which recent prompt a prompt was made like: the one to compare with when hardly anything in front is shared.

One idea: block hashes find what begins alike, and a clock in front leaves nothing to find. But the same program makes
prompts of the same version (prefix.prompt_version masks what moves), and prompts that hold one document or go on with
one conversation have a message in common, known by how it begins. So: of the same version the last prompt with one of
the latest messages in it, else with the same first message behind the system's, else the last one. Bounded, the entry
not renewed for the longest time out first.
"""

from collections import OrderedDict
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
_SEED: Final = (1 << 64) - 1
_hash = xxhash.xxh3_64_intdigest

Source = TypeVar("Source")

Names = list[int]


class Kin(Generic[Source]):
    """Recent prompts by version, and by version and message."""

    __slots__ = ("_latest",)

    def __init__(self) -> None:
        self._latest: OrderedDict[int, Finished[Source]] = OrderedDict()

    def find(self, names: Names) -> Finished[Source] | None:
        """The prompt that one with these names (`names_of`) was made like, if it is still there."""
        for name in names:
            prompt = self._latest.get(name)
            if prompt is not None and prompt.source is not None:
                return prompt
        return None

    def learn(self, names: Names, prompt: Finished[Source]) -> None:
        """A prompt with these names was finished."""
        latest = self._latest
        for name in names:
            latest[name] = prompt
            latest.move_to_end(name)
        while len(latest) > _KEPT:
            latest.popitem(last=False)


def names_of(text: bytes, version: Version) -> Names:
    """What the prompt with this view is known by, the most telling first: hashes of how its latest messages begin,
    the last one first, of how the second of all does, and its version. No message that is too short to tell."""
    names: Names = []
    seed = hash(version) & _SEED
    at = len(text)
    most = at - _OPENING
    for _ in range(_LATEST):
        at = text.rfind(MESSAGE, 0, at)
        if at < 0:
            break
        if at <= most:
            names.append(_hash(text[at : at + _OPENING], seed))
    second = text.find(MESSAGE, text.find(MESSAGE) + 1) if at > 0 else at
    if second < at:
        names.append(_hash(text[second : second + _OPENING], seed))
    if version[1] is not None:
        names.append(seed)
    return names
