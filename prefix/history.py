"""Which prompts were finished lately, and by whom: what a cache could know of a prompt, had it forgotten nothing.

One idea: a prompt is the path of its block hashes from its namespace's seed to a hash of what is behind its last full
block (`path_of`), so prompts that begin alike share the runs of a tree (prefix.runs) and every distinct ending is a
leaf. For each run it is known what each holder last finished through it, and what anybody did. The prompts ever
finished are far more than any worker keeps, which tells what was lost from what was never there.

Bounded: blocks, runs, what is known of them and bytes of text, each least recently finished out first. A prompt
touches its runs from its end upwards, so the oldest run is always a leaf.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final, Generic, TypeVar

import msgspec
import xxhash

from prefix.blocks import BLOCK_BYTES
from prefix.index import RUN_WEIGHT
from prefix.runs import Run, insert, shared_blocks

Source = TypeVar("Source")

ANYBODY: Final = -1
"""Stands for whoever finished a prompt last."""


class Finished(Generic[Source]):
    """A prompt that was finished: its view's text, b"" once it was forgotten, and where that came from.

    holder: who finished it last; size: bytes that keeping it costs.
    """

    __slots__ = ("holder", "size", "source", "text")

    def __init__(self, text: bytes, source: Source, holder: int, size: int) -> None:
        self.text = text
        self.source: Source | None = source
        self.holder = holder
        self.size = size


class Found(msgspec.Struct, Generic[Source], frozen=True, gc=False):
    """How much of a path was finished: steps at all, those that the asked holder finished, those that others did.

    nearest: the prompt that last went so far, or less far when its text is no longer there. own: the last one of the
    asked holder that went as far as any of its did. run, within: the run in which the path was left, or ended, and
    behind how many of its steps; held: the last run that the asked holder finished.
    """

    steps: int
    mine: int
    others: int
    nearest: Finished[Source] | None
    own: Finished[Source] | None
    run: Run
    within: int
    held: Run


class History(Generic[Source]):
    """Finished prompts. capacity: block hashes kept; capacity_bytes: of the prompts' `size` together."""

    __slots__ = ("_blocks", "_bytes", "_capacity", "_capacity_bytes", "_entries", "_latest", "_root", "_texts")

    def __init__(self, capacity: int = 1 << 18, capacity_bytes: int = 32 << 20) -> None:
        self._capacity = capacity
        self._capacity_bytes = capacity_bytes
        self._blocks = self._bytes = self._entries = 0
        self._root = Run([], None)
        self._latest: OrderedDict[Run, dict[int, Finished[Source]]] = OrderedDict()
        self._texts: OrderedDict[Run, Finished[Source]] = OrderedDict()

    def __len__(self) -> int:
        """Block hashes kept."""
        return self._blocks

    @property
    def text_bytes(self) -> int:
        """Bytes that the kept prompts cost."""
        return self._bytes

    def find(self, path: Sequence[int], holder: int) -> Found[Source]:
        """How much of this path was finished, by this holder and by others. Changes nothing."""
        at = mine = others = start = 0
        own = None
        size, run, latest = len(path), self._root, self._latest
        run_held = run
        while at < size and (below := run.children.get(path[at])) is not None:
            run, held, start = below, below.blocks, at
            at += len(held)
            whole = at <= size and held[-1] == path[at - 1]
            if not whole:
                at = start + shared_blocks(held, path, start)
            known = latest[run]
            if holder in known:
                mine, own, run_held = at, known[holder], run
                others = at if len(known) > 2 else others
            elif len(known) > 1:
                others = at
            if not whole:
                break
        return Found(at, mine, others, self._nearest(run), own, run, at - start, run_held)

    def further(self, found: Found[Source], step: int, holder: int) -> Found[Source] | None:
        """What is found of the same path with this last step behind those that were found; None without it."""
        run, within = found.run, found.within
        if within < len(run.blocks):
            end = run if run.blocks[within] == step else None
        else:
            end, within = run.children.get(step), 0
        if end is None:
            return None
        at, known = found.steps + 1, self._latest[end]
        mine, others, own, held = found.mine, found.others, found.own, found.held
        if holder in known:
            mine, own, held = at, known[holder], end
            others = at if len(known) > 2 else others
        elif len(known) > 1:
            others = at
        return Found(at, mine, others, self._nearest(end), own, end, within + 1, held)

    def holds_end(self, found: Found[Source], step: int, holder: int) -> bool:
        """Whether this holder, the one asked for, finished a path that ends with this step behind its own ones."""
        end = found.held.children.get(step)
        return end is not None and holder in self._latest[end]

    def add(self, path: Sequence[int], new: Finished[Source], *, confirmed: bool = True) -> Finished[Source]:
        """A prompt was finished by its holder. confirmed: its engine said so; else only its text is remembered.

        Returns what is remembered: an earlier prompt with the very same path, if there is one.
        """
        end = insert(self._root, path)
        if end not in self._latest:
            self._blocks += len(end.blocks)
        prompt = self._keep(end, new)
        run, below, latest = end, end, self._latest
        while (parent := run.parent) is not None:
            known = latest.get(run)
            if known is None:
                known = latest[run] = self._inherited(run, below)
            else:
                latest.move_to_end(run)
            before = len(known)
            known[ANYBODY] = prompt
            if confirmed:
                known[new.holder] = prompt
            self._entries += len(known) - before
            run, below = parent, run
        while self._full():
            self._drop()
        return prompt

    def forget(self, holder: int) -> None:
        """This number is somebody else's from now on."""
        for known in self._latest.values():
            self._entries -= known.pop(holder, None) is not None

    def _full(self) -> bool:
        most = self._capacity
        return self._blocks > most or self._entries > most or len(self._latest) > most // RUN_WEIGHT

    def _inherited(self, run: Run, below: Run) -> dict[int, Finished[Source]]:
        """What is known of a new run: what its other half knows, when it was split off."""
        for child in run.children.values():
            if child is not below:
                self._entries += len(self._latest[child])
                return dict(self._latest[child])
        return {}

    def _nearest(self, run: Run) -> Finished[Source] | None:
        """What last passed through this run, or through one above it, if that is still there."""
        while run.parent is not None:
            prompt = self._latest[run][ANYBODY]
            if prompt.source is not None:
                return prompt
            run = run.parent
        return None

    def _keep(self, end: Run, new: Finished[Source]) -> Finished[Source]:
        prompt = self._texts.get(end)
        if prompt is not None:
            prompt.holder = new.holder
            self._texts.move_to_end(end)
            return prompt
        self._texts[end] = new
        self._bytes += new.size
        while self._bytes > self._capacity_bytes:
            self._let_go(self._texts.popitem(last=False)[1])
        return new

    def _let_go(self, prompt: Finished[Source] | None) -> None:
        if prompt is not None:
            self._bytes -= prompt.size
            prompt.text, prompt.source, prompt.size = b"", None, 0

    def _drop(self) -> None:
        run, known = self._latest.popitem(last=False)
        assert run.parent is not None
        del run.parent.children[run.blocks[0]]
        self._blocks -= len(run.blocks)
        self._entries -= len(known)
        self._let_go(self._texts.pop(run, None))


def path_of(text: bytes, seed: int, blocks: Sequence[int]) -> list[int]:
    """The steps of a prompt: its seed, its block hashes, and its end behind them."""
    return [seed, *blocks, end_step(text[len(blocks) * BLOCK_BYTES :], blocks[-1] if blocks else seed)]


def end_step(rest: bytes, before: int) -> int:
    """The last step of a prompt with this text behind the step before."""
    return xxhash.xxh3_64_intdigest(rest, before) ^ 1  # an end is no block, even of the same bytes


def covered_bytes(steps: int, whole: int, size: int) -> int:
    """How many bytes the first steps of a path cover. whole, size: the path's steps and bytes."""
    return size if steps >= whole else max(0, steps - 1) * BLOCK_BYTES
