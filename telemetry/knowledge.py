"""What the gateway knows of a prompt at dispatch and learns from its end: the places of telemetry.attribution.

One idea: what is cheap is looked up at dispatch, since later nobody knows what was known then; what is dear (where it
parts from recent prompts, telemetry.parting, and what recurs behind, telemetry.searches) is done at the end, and only
for prompts that missed.

- A prompt counts as *confirmed* at a worker when the engine's usage report for it came: the engine held it then.
- Salted prompts are known a second time by the hashes that they would have without their salt.
- Three recent prompts are near: of those that any worker, and that its own worker finished, the last one that shares
  the most blocks tells how far caches reach; the one that this prompt was made like (prefix.kin) what comes again
  behind a difference.
- A worker that was chosen for another reason than what it holds would have been chosen though another had forgotten
  nothing, so what another lost is out of its reach like what another holds.

Pure. Memory: two prefix.history (the second only with salts), whose texts are bounded together with their sources.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Final, Generic, TypeVar

import msgspec

from prefix.blocks import BLOCK_BYTES, block_hashes
from prefix.history import Finished, Found, History, covered_bytes, end_step, path_of
from prefix.kin import Kin, Names, Version, names_of
from prefix.view import MESSAGE, View
from telemetry.attribution import Places, Reason, attribute
from telemetry.parting import LEAST_BYTES, shared_bytes, to_the_byte
from telemetry.searches import Runs, Searches

_SALTS: Final = 1021
_NO_SALT: Final = -2
_REGION: Final = 4096
_WORKERS: Final = 256
_NOTHING: Final[Runs] = ()
Source = TypeVar("Source")


class Sight(msgspec.Struct, Generic[Source], frozen=True, gc=False):
    """What was known of a prompt at dispatch.

    path, bare: its steps, and those without its salt, None when it has none. salt, holder: numbers of its namespace
    and its worker. version: of its template, within its namespace. places: in whole blocks. closest: the recent
    prompt that shares the most blocks, `shared` bytes; own: the closest of its worker's; akin: the one it was made
    like; foreign: the closest of other salts.
    """

    text: bytes
    path: list[int]
    bare: list[int] | None
    salt: int
    holder: int
    version: Version
    names: Names
    places: Places
    closest: Finished[Source] | None
    shared: int
    own: Finished[Source] | None
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
        self._searches = Searches()
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
        follows: bool = True,
    ) -> Sight[Source]:
        """What is known of a prompt that goes to this worker now.

        version: the prompt version, None when it has none. held_blocks, fleet_blocks: leading blocks that the
        worker, and that any worker, is believed to have computed. follows: whether the worker was chosen for what
        workers hold; if not, the prompt would have come here even if another had forgotten nothing.
        """
        text, holder = view.text, self._holder(worker)
        path = path_of(text, view.seed, blocks)
        found, steps, end = self._find(path, text, holder)
        bare, foreign, isolated, mark = None, None, 0, _NO_SALT
        if view.bare is not None:
            bare, mark = path_of(text, view.bare, block_hashes(text, view.bare)), view.seed % _SALTS
        if bare is not None or len(self._bare):
            isolated, foreign = self._seen_elsewhere(bare or path, mark)
        mine = self._mine(path, text, found, steps, end, holder)
        lost = max(mine, covered_bytes(found.others, steps, end))
        apart = covered_bytes(isolated, len(path), len(text))
        held, elsewhere = held_blocks * BLOCK_BYTES, fleet_blocks * BLOCK_BYTES
        if not follows:
            elsewhere = max(elsewhere, lost)
        places = Places(len(text), mine, held, elsewhere, lost, apart)
        key = (view.seed, version)
        names = names_of(text, key)
        akin = self._kin.find(names) if found.steps < steps else None
        shared = covered_bytes(found.steps, steps, end)
        nearest, own = found.nearest, found.own
        return Sight(text, path, bare, mark, holder, key, names, places, nearest, shared, own, akin, foreign)

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
        explained: Explained[Source] = (
            Explained({})
            if prompt_tokens is None
            else self._explain(sight, prompt_tokens, cached_tokens, page_tokens)
        )
        if computed or cached_tokens is not None:
            self._learn(sight, source, source_bytes, confirmed=cached_tokens is not None)
        return explained

    def _explain(self, sight: Sight[Source], tokens: int, cached: int | None, page: int) -> Explained[Source]:
        places, text = sight.places, sight.text
        if cached is None or not 0 <= cached < tokens or not places.size:
            return Explained(attribute(tokens, cached, places, page_tokens=page))
        computed = cached * places.size // tokens
        parted = shared_bytes(sight.closest, text, sight.shared)
        own = parted if sight.own is sight.closest else shared_bytes(sight.own, text, places.confirmed)
        if sight.closest is not None and sight.closest.holder == sight.holder:
            own = max(own, parted)
        places = to_the_byte(places, text, own, parted, sight.foreign, computed)
        near = sight.akin if sight.akin is not None and sight.akin.source is not None else sight.closest
        start, again = 0, _NOTHING
        if near is not None and places.size - max(parted, computed, *places[1:6]) > LEAST_BYTES:
            start, again = self._searches.search(near.text, text, (sight.version, parted // _REGION), parted)
        if again:
            places = Places(*places[:6], again, own)
        uncached = attribute(tokens, cached, places, page_tokens=page)
        if near is None or "divergent" not in uncached:
            return Explained(uncached)
        return Explained(uncached, near.source, start, sum([high - low for low, high in again]))

    def _learn(self, sight: Sight[Source], source: Source, source_bytes: int, *, confirmed: bool) -> None:
        size = len(sight.text) + source_bytes
        new = Finished(sight.text, source, sight.holder, size)
        self._kin.learn(sight.names, self._known.add(sight.path, new, confirmed=confirmed))
        if sight.bare is not None:
            self._bare.add(sight.bare, Finished(sight.text, source, sight.salt, size), confirmed=confirmed)

    def _find(self, path: list[int], text: bytes, holder: int) -> tuple[Found[Source], int, int]:
        """What is known of a path; of an earlier turn that this prompt goes on from, also behind its last full block.

        With it the steps of what was found, were it known to its end, and the bytes that these cover.
        """
        found = self._known.find(path, holder)
        at = found.steps
        for end, step in self._turn_ends(path, text, at):
            if (turn := self._known.further(found, step, holder)) is not None:
                return turn, at + 1, end
        return found, len(path), len(text)

    def _mine(self, path: list[int], text: bytes, found: Found[Source], steps: int, end: int, holder: int) -> int:
        """How many bytes its own worker finished, where others are further: an earlier turn, too."""
        at = found.mine
        if at < found.steps:
            for ended, step in self._turn_ends(path, text, at):
                if self._known.holds_end(found, step, holder):
                    return ended
        return covered_bytes(at, steps, end)

    def _turn_ends(self, path: list[int], text: bytes, at: int) -> Iterator[tuple[int, int]]:
        """Where turns may have ended in the block behind these steps, the last one first, and their last steps."""
        if 0 < at < len(path):
            start, before = (at - 1) * BLOCK_BYTES, path[at - 1]
            end = start + BLOCK_BYTES
            while (end := text.rfind(MESSAGE, start + 1, end)) > 0:
                yield end, end_step(text[start:end], before)

    def _seen_elsewhere(self, bare: list[int], mark: int) -> tuple[int, Finished[Source] | None]:
        """How many steps of this salt-free path were finished under another salt, and what went furthest."""
        found = self._bare.find(bare, mark)
        steps, nearest = found.others, found.nearest
        plain = self._known.find(bare, mark) if mark != _NO_SALT else None
        if plain is not None and plain.others > steps:
            steps, nearest = plain.others, plain.nearest
        return steps, nearest

    def _holder(self, worker: str) -> int:
        """The number of a worker; the one not seen for the longest time makes room for a new one."""
        number = self._holders.get(worker)
        if number is None:
            number = len(self._holders)
            if number == _WORKERS:
                number = self._holders.popitem(last=False)[1]
                self._known.forget(number)
            self._holders[worker] = number
        self._holders.move_to_end(worker)
        return number
