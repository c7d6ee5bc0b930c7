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
    """These places, in whole blocks, moved to where the prompts part when the engine lacks enough of them.

    own: bytes shared with the nearest prompt of the same worker, `parted` of the result; parted: with that of any;
    foreign: that of another salt. computed: bytes that the engine had cached.
    """
    size, confirmed, held, elsewhere, lost, isolated, _, _ = places
    if own <= computed + LEAST_BYTES and max(confirmed, held, elsewhere, lost, isolated) <= computed:
        return Places(size, confirmed, held, elsewhere, lost, isolated, (), own)
    ours, any_block = own - own % BLOCK_BYTES, parted - parted % BLOCK_BYTES
    if 0 < confirmed < own and ours <= confirmed:
        confirmed = own
    if 0 < held < own and ours <= held:
        held = own
    if 0 < elsewhere < parted and any_block <= elsewhere:
        elsewhere = parted
    if 0 < lost < parted and any_block <= lost:
        lost = parted
    if isolated and foreign is not None:
        isolated = max(isolated, common_prefix(foreign.text, text))
    return Places(size, confirmed, held, elsewhere, max(confirmed, lost), isolated, (), own)
