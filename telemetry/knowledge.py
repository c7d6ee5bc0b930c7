"""What the gateway knows of a prompt at dispatch and learns from its end: the places of telemetry.attribution.

One idea: what is cheap is looked up at dispatch, since later nobody knows what was known then; what is dear (where it
parts from its nearest recent prompt, what recurs behind) is done at the end, and only for prompts that missed.

- A prompt counts as *confirmed* at a worker when the engine's usage report for it came: the engine held it then.
- Salted prompts are known a second time by the hashes that they would have without their salt.
- Two recent prompts are near: the one that shares the most blocks tells how far caches reach, the one that this
  prompt was made like (prefix.kin) what comes again behind a difference.
- Blocks end somewhere before texts part. Once a whole block is missing, a place that reaches the last block shared
  with the nearest prompt reaches to the very byte; before that, tokens scaled from bytes would be noise.
- Text that does not recur is not searched for ever: after PATIENCE fruitless searches of one version, behind about
  the same place, only each SELDOM-th prompt is.

Pure. Memory: two prefix.history (the second only with salts), whose texts are bounded together with their sources.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Final, Generic, TypeVar

import msgspec

from prefix.blocks import BLOCK_BYTES, block_hashes
from prefix.history import Finished, Found, History, covered_bytes, end_step, path_of
from prefix.kin import Kin, Version
from prefix.recurring import common_prefix, recurring
from prefix.view import MESSAGE, View
from telemetry.attribution import Places, Reason, attribute

PATIENCE: Final = 4
SELDOM: Final = 32
LEAST_BYTES: Final = 256
"""Less uncached text is not searched for what recurs."""

_SALTS: Final = 1021
_REGION: Final = 4096
_KEPT: Final = 8192
_WORKERS: Final = 256
Runs = tuple[tuple[int, int], ...]
_NOTHING: Final[Runs] = ()
Source = TypeVar("Source")


class Sight(msgspec.Struct, Generic[Source], frozen=True, gc=False):
    """What was known of a prompt at dispatch.

    path, bare: its steps, and those without its salt, None when it has none. salt, holder: bits of its namespace and
    its worker. version: of its template, within its namespace. places: in whole blocks. closest: the recent prompt
    that shares the most blocks, `shared` bytes; akin: the one it was made like; foreign: the closest of other salts.
    """

    text: bytes
    path: list[int]
    bare: list[int] | None
    salt: int
    holder: int
    version: Version
    places: Places
    closest: Finished[Source] | None
    shared: int
    akin: Finished[Source] | None
    foreign: Finished[Source] | None


class Explained(msgspec.Struct, Generic[Source], frozen=True):
    """uncached: tokens by reason. nearest: the prompt it parts from, when something is `divergent`, and the bytes of
    view that it shares with it and that come again behind."""

    uncached: dict[Reason, int]
    nearest: Source | None = None
    parted: int = 0
    recurring: int = 0


class Knowledge(Generic[Source]):
    """Everything known about finished prompts. Source: what a prompt came from, given back as `nearest`."""

    def __init__(self, capacity: int = 1 << 18, capacity_bytes: int = 32 << 20) -> None:
        self._known: History[Source] = History(capacity, capacity_bytes)
        self._bare: History[Source] = History(capacity // 4, capacity_bytes // 4)
        self._kin: Kin[Source] = Kin()
        self._fruitless: dict[tuple[Version, int], int] = {}
        self._holders: OrderedDict[str, int] = OrderedDict()

    def at_dispatch(
        self,
        view: View,
        blocks: Sequence[int],
        version: str | None,
        worker: str,
        *,
        held_blocks: int,
        fleet_blocks: int,
    ) -> Sight[Source]:
        """What is known of a prompt that goes to this worker now.

        version: the prompt version, None when it has none. held_blocks, fleet_blocks: leading blocks that the
        worker, and that any worker, is believed to have computed.
        """
        text, holder = view.text, self._holder(worker)
        path = path_of(text, view.seed, blocks)
        found, steps, end = self._find(path, text, holder)
        bare, foreign, isolated, mark = None, None, 0, 0
        if view.bare is not None:
            bare, mark = path_of(text, view.bare, block_hashes(text, view.bare)), 1 << view.seed % _SALTS
        if bare is not None or len(self._bare):
            isolated, foreign = self._seen_elsewhere(bare or path, mark, unsalted=bare is None)
        mine = covered_bytes(found.mine, steps, end)
        lost = mine if found.others <= found.mine else covered_bytes(found.others, steps, end)
        apart = covered_bytes(isolated, len(path), len(text))
        held, elsewhere = held_blocks * BLOCK_BYTES, fleet_blocks * BLOCK_BYTES
        places = Places(len(text), mine, held, elsewhere, lost, apart)
        key = (view.seed, version)
        akin = self._kin.find(text, key) if found.steps < steps else None
        shared = covered_bytes(found.steps, steps, end)
        return Sight(text, path, bare, mark, holder, key, places, found.nearest, shared, akin, foreign)

    def finished(
        self,
        sight: Sight[Source],
        source: Source,
        source_bytes: int,
        *,
        prompt_tokens: int | None,
        cached_tokens: int | None,
        page_tokens: int = 1,
        computed: bool = True,
    ) -> Explained[Source]:
        """The prompt ended: why its uncached tokens were, and from now on it is known.

        source: given back when a later prompt parts from this one; its bytes count against the memory. computed:
        whether the worker finished its prefill, as far as anybody saw.
        """
        explained: Explained[Source] = Explained({})
        if prompt_tokens is not None:
            explained = self._explain(sight, prompt_tokens, cached_tokens, page_tokens)
        if computed or cached_tokens is not None:
            self._learn(sight, source, source_bytes, confirmed=cached_tokens is not None)
        return explained

    def _explain(self, sight: Sight[Source], tokens: int, cached: int | None, page: int) -> Explained[Source]:
        places, closest, akin = sight.places, sight.closest, sight.akin
        if cached is None or not 0 <= cached < tokens or not places.size:
            return Explained(attribute(tokens, cached, places, page_tokens=page))
        parted = _parted(sight)
        own = closest is not None and closest.holder == sight.holder
        if max(places[1:6]) * tokens // places.size > cached:
            places = _to_the_byte(sight, parted, own=own)
        near = akin if akin is not None and akin.source is not None else closest
        start, again = 0, _NOTHING
        behind = max(parted, cached * places.size // tokens, *places[1:6])
        if near is not None and places.size - behind > LEAST_BYTES:
            start, again = self._search(near.text, sight.text, (sight.version, parted // _REGION), parted)
        uncached = attribute(tokens, cached, Places(*places[:6], again, parted if own else 0), page_tokens=page)
        if near is None or "divergent" not in uncached:
            return Explained(uncached)
        return Explained(uncached, near.source, start, sum([high - low for low, high in again]))

    def _learn(self, sight: Sight[Source], source: Source, source_bytes: int, *, confirmed: bool) -> None:
        size = len(sight.text) + source_bytes
        new = Finished(sight.text, source, sight.holder, size)
        self._kin.learn(sight.version, self._known.add(sight.path, new, confirmed=confirmed))
        if sight.bare is not None:
            self._bare.add(sight.bare, Finished(sight.text, source, sight.salt, size), confirmed=confirmed)

    def _find(self, path: list[int], text: bytes, holder: int) -> tuple[Found[Source], int, int]:
        """What is known of a path; of an earlier turn that this prompt goes on from, also behind its last full block.

        With it the steps of what was found, were it known to its end, and the bytes that these cover.
        """
        found = self._known.find(path, holder)
        at = found.steps
        start = max(0, at - 1) * BLOCK_BYTES
        for end in _message_ends(text, start) if 0 < at < len(path) else ():
            turn = self._known.find([*path[:at], end_step(text[start:end], path[at - 1])], holder)
            if turn.steps > at:
                return turn, at + 1, end
        return found, len(path), len(text)

    def _seen_elsewhere(self, bare: list[int], mark: int, *, unsalted: bool) -> tuple[int, Finished[Source] | None]:
        """How many steps of this salt-free path were finished under another salt, and what went furthest."""
        found = self._bare.find(bare, mark)
        steps, nearest = found.others, found.nearest
        plain = self._known.find(bare) if not unsalted else None
        if plain is not None and plain.others > steps:
            steps, nearest = plain.others, plain.nearest
        return steps, nearest

    def _holder(self, worker: str) -> int:
        """The bit of a worker; the one not seen for the longest time makes room for a new one."""
        number = self._holders.get(worker)
        if number is None:
            number = len(self._holders)
            if number == _WORKERS:
                number = self._holders.popitem(last=False)[1]
                self._known.forget(1 << number)
            self._holders[worker] = number
        self._holders.move_to_end(worker)
        return 1 << number

    def _search(self, near: bytes, text: bytes, key: tuple[Version, int], parted: int) -> tuple[int, Runs]:
        """Where two texts part and what recurs behind, unless that was in vain too often under this key.

        parted: up to where they are likely to agree.
        """
        tried = self._fruitless.pop(key, 0) + 1
        if tried <= PATIENCE or tried % SELDOM == 0:
            start = parted if near[:parted] == text[:parted] else 0
            start += common_prefix(near, text, start, start)
            found = recurring(near, text, start)
            if found:
                return start, found
        self._fruitless[key] = tried
        if len(self._fruitless) > _KEPT:
            del self._fruitless[next(iter(self._fruitless))]
        return 0, _NOTHING


def _message_ends(text: bytes, start: int) -> Iterator[int]:
    """Where messages end in the block of a view that begins at this byte, the last one first."""
    end = start + BLOCK_BYTES
    while (end := text.rfind(MESSAGE, start + 1, end)) > 0:
        yield end


def _parted(sight: Sight[Source]) -> int:
    """The byte where a prompt parts from the one that shares the most blocks; 0 when that is no longer there."""
    closest, shared, text = sight.closest, sight.shared, sight.text
    if closest is None or closest.source is None:
        return 0
    start = shared if closest.text[:shared] == text[:shared] else 0
    return start + common_prefix(closest.text, text, start, start)


def _to_the_byte(sight: Sight[Source], parted: int, *, own: bool) -> Places:
    """Places at the end of the last whole block before two texts part, moved to where they do.

    own: the worker had the text itself; else some worker had.
    """
    whole = parted // BLOCK_BYTES * BLOCK_BYTES
    size, confirmed, held, elsewhere, lost, isolated = sight.places[:6]
    if own and confirmed and whole <= confirmed:
        confirmed = max(confirmed, parted)
    if own and held and whole <= held:
        held = max(held, parted)
    if elsewhere and whole <= elsewhere:
        elsewhere = max(elsewhere, parted)
    if lost and whole <= lost:
        lost = max(lost, parted)
    if isolated and sight.foreign is not None:
        isolated = max(isolated, common_prefix(sight.foreign.text, sight.text))
    return Places(size, confirmed, held, elsewhere, lost, isolated)
