"""prefix.index against a model that counts block by block."""

from collections import Counter, OrderedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from prefix.index import WorkerIndex
from prefix.runs import subtree


def chain(tokens: str) -> list[int]:
    """A prompt of one block a character, with chained hashes."""
    return [hash(("chain", tokens[: i + 1])) for i in range(len(tokens))]


class Naive:
    """The rules of the index without a tree: a count, a flag and a place in the LRU for every block."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.pins: Counter[int] = Counter()
        self.computed: set[int] = set()
        self.lru: OrderedDict[int, None] = OrderedDict()
        self.stored: set[int] | None = None

    def match(self, blocks: list[int]) -> tuple[int, int, int]:
        stored = self.stored or set()
        computed = max(leading(blocks, self.computed), leading(blocks, stored))
        known = leading(blocks, set(self.pins) | set(self.lru))
        return max(known, computed), computed, leading(blocks, set(self.pins))

    def pin(self, blocks: list[int]) -> list[int]:
        pinned = self.match(blocks)[2]
        room = pinned + self.capacity - len(self.pins) - len(self.stored or ())
        blocks = blocks[: max(pinned, room)]
        for block in blocks:
            self.pins[block] += 1
            self.lru.pop(block, None)
        return blocks

    def unpin(self, blocks: list[int], computed: bool, output: list[int]) -> None:
        if computed:
            self.computed.update(blocks)
            for block in output if self.stored is None else []:
                self.computed.add(block)
                self.pins[block] += 1
                blocks = [*blocks, block]
        for block in reversed(blocks):
            self.pins[block] -= 1
            if not self.pins[block]:
                del self.pins[block]
                if block in self.computed:
                    self.lru[block] = None

    def trim(self, room: int) -> None:
        room = 0 if self.stored is not None else max(0, min(room, self.capacity - len(self.pins)))
        while len(self.lru) > room:
            self.computed.discard(self.lru.popitem(last=False)[0])

    def switch(self) -> set[int]:
        if self.stored is None:
            self.stored = set(list(reversed(self.lru))[: self.capacity // 2])
            self.trim(0)
        return self.stored


def leading(blocks: list[int], held: set[int]) -> int:
    return next((i for i, block in enumerate(blocks) if block not in held), len(blocks))


PROMPTS = st.text(alphabet="ab", max_size=7)


class IndexMachine(RuleBasedStateMachine):
    """Any sequence of calls leaves index and model with the same beliefs about every prompt."""

    @initialize(capacity=st.integers(4, 40))
    def start(self, capacity: int) -> None:
        self.index = WorkerIndex(capacity)
        self.model = Naive(capacity)
        self.flying: list[tuple[object, bool, list[int], str]] = []
        self.seen: set[str] = {""}

    @rule(prompt=PROMPTS)
    def route(self, prompt: str) -> None:
        blocks = chain(prompt)
        run, whole = self.index.pin(blocks, self.index.match(blocks)[2])
        held = self.model.pin(blocks)
        assert whole == (len(held) == len(blocks))
        self.flying.append((run, whole, held, prompt))
        self.seen.add(prompt)

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def first_token(self, data: st.DataObject) -> None:
        run, _, held, _ = data.draw(st.sampled_from(self.flying))
        self.index.mark_computed(run)
        self.model.computed.update(held)

    @precondition(lambda self: self.flying)
    @rule(data=st.data(), computed=st.booleans(), output=st.text(alphabet="ab", max_size=3))
    def release(self, data: st.DataObject, computed: bool, output: str) -> None:
        run, whole, held, prompt = self.flying.pop(data.draw(st.integers(0, len(self.flying) - 1)))
        tail = chain(prompt + output)[len(prompt) :] if whole else []
        self.index.unpin(run, computed=computed, output_blocks=tail)
        self.model.unpin(held, computed, tail)
        self.seen.add(prompt + output)

    @rule(room=st.integers(0, 60))
    def trim(self, room: int) -> None:
        self.index.trim(room)
        self.model.trim(room)

    @rule(prompt=PROMPTS)
    def stored(self, prompt: str) -> None:
        blocks = chain(prompt)
        self.index.store(blocks)
        held = self.model.switch()
        held.update(blocks[: max(0, self.model.capacity // 2 - len(held))])
        self.trim(0)

    @rule(prompt=PROMPTS, keep=st.integers(0, 6))
    def removed(self, prompt: str, keep: int) -> None:
        blocks = chain(prompt)[keep:]
        self.index.remove(blocks)
        self.model.switch().difference_update(blocks)
        self.trim(0)

    @invariant()
    def same_beliefs(self) -> None:
        if not hasattr(self, "index"):
            return
        for prompt in self.seen:
            for blocks in (chain(prompt), chain(prompt + "a"), chain(prompt[:-1] + "c")):
                assert self.index.match(blocks) == self.model.match(blocks), prompt
        assert self.index.pinned == len(self.model.pins)
        assert self.index.cached == len(self.model.lru)
        assert len(self.index) == len(self.model.pins) + len(self.model.lru) + len(self.model.stored or ())

    @invariant()
    def sound_tree(self) -> None:
        if not hasattr(self, "index"):
            return
        root = self.index._root
        order = {run: i for i, run in enumerate(self.index._lru)}
        for run in list(subtree(root))[1:]:
            parent = run.parent
            assert run.blocks
            assert parent is not None
            assert parent.children[run.blocks[0]] is run
            assert parent.pins >= sum(c.pins for c in parent.children.values()) or parent is root
            assert parent.computed or not run.computed
            assert (run in order) == (not run.pins)
            assert run.pins or run.computed
            assert run.pins or parent.pins or parent is root or order[run] < order[parent]


@pytest.fixture
def any_number_of_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model knows no runs, so it cannot bound them."""
    monkeypatch.setattr("prefix.index.RUN_WEIGHT", 1)


@pytest.mark.usefixtures("any_number_of_runs")
class TestIndexMachine(IndexMachine.TestCase):
    settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
