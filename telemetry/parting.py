"""Where two prompts part, to the byte: the places of telemetry.attribution beyond whole blocks.

Blocks end somewhere before texts part. Once a whole block is missing, or about half of one, a place that reaches the
last block shared with a prompt reaches to the very byte where the two part; before that, tokens scaled from bytes
would be noise.
"""

from typing import Final, TypeVar

from prefix.blocks import BLOCK_BYTES
from prefix.history import Finished
from prefix.recurring import common_prefix
from telemetry.attribution import Places

Source = TypeVar("Source")

LEAST_BYTES: Final = 256
"""Less uncached text than this is not looked at more closely."""


def shared_bytes(near: Finished[Source] | None, text: bytes, known: int) -> int:
    """How far a text agrees with a recent prompt, 0 when that is no longer there. known: so far it likely does."""
    if near is None or near.source is None:
        return 0
    before = near.text
    head = before[:known]
    start = len(head) if text.startswith(head) else 0
    return start + common_prefix(before, text, start, start)


def to_the_byte(
    places: Places, text: bytes, own: int, parted: int, foreign: Finished[Source] | None, computed: int
) -> Places:
    """These places, in whole blocks, moved to where the prompts part, when the engine lacks enough of them.

    own, parted: bytes shared with the nearest prompt of the same worker, and of any; foreign: that of another salt.
    computed: bytes that the engine had cached.
    """
    if max(places[1:6]) <= computed and own <= computed + LEAST_BYTES:
        return places
    size, confirmed, held, elsewhere, lost, isolated = places[:6]
    confirmed = _moved(confirmed, own)
    held = _moved(held, own)
    elsewhere = _moved(elsewhere, parted)
    lost = max(confirmed, _moved(lost, parted))
    if isolated and foreign is not None:
        isolated = max(isolated, common_prefix(foreign.text, text))
    return Places(size, confirmed, held, elsewhere, lost, isolated)


def _moved(place: int, parted: int) -> int:
    """A place at the end of the last whole block before two texts part is where they do."""
    return max(place, parted) if place and parted // BLOCK_BYTES * BLOCK_BYTES <= place else place
