"""prefix.index: what a worker is believed to hold, against a model that counts block by block."""

from collections import Counter, OrderedDict

import pytest
from hypothesis import example, given, settings
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
        blocks = blocks[: pinned + max(0, self.capacity - len(self.pins) - len(self.stored or ()))]
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
            self.stored = set()
            self.store(list(reversed(self.lru)))
            self.trim(0)
        return self.stored

    def store(self, blocks: list[int]) -> None:
        held = self.switch()
        room = min(self.capacity // 2, self.capacity - len(self.pins)) - len(held)
        held.update(blocks[: max(0, room)])


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
        self.model.store(blocks)
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
        assert len(self.index) <= self.index.capacity or self.index.cached
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


def served(index: WorkerIndex, *prompts: str) -> None:
    """These prompts were computed one after the other."""
    for prompt in prompts:
        blocks = chain(prompt)
        run, _ = index.pin(blocks, index.match(blocks)[2])
        index.unpin(run, computed=True)


def known(index: WorkerIndex, prompt: str) -> int:
    return index.match(chain(prompt))[0]


def runs(index: WorkerIndex) -> int:
    return len(list(subtree(index._root))) - 1


def test_half_known_until_the_first_token() -> None:
    """Blocks in flight are known and pinned at once, and computed with the first token."""
    index = WorkerIndex(100)
    run, _ = index.pin(chain("abcd"), 0)
    assert index.match(chain("abcx")) == (3, 0, 3)
    index.mark_computed(run)
    assert index.match(chain("abcx")) == (3, 3, 3)


def test_a_failed_request_leaves_nothing() -> None:
    """What only a request that was never computed asked for is forgotten with it; what others hold stays."""
    index = WorkerIndex(100)
    served(index, "ab")
    first, _ = index.pin(chain("abcd"), 0)
    second, _ = index.pin(chain("abce"), 2)
    index.unpin(first, computed=False)
    assert known(index, "abcd") == 3
    index.unpin(second, computed=False)
    assert known(index, "abce") == 2
    assert runs(index) == 1


def test_the_response_extends_the_prompt() -> None:
    """Blocks of the response are held behind the prompt's, and match the next turn."""
    index = WorkerIndex(100)
    run, _ = index.pin(chain("ab"), 0)
    index.unpin(run, computed=True, output_blocks=chain("abcd")[2:])
    assert known(index, "abcde") == 4


def test_eviction_takes_the_oldest_leaf_from_its_tail() -> None:
    """A prefix in use outlives its old branches, and a branch goes from its end."""
    index = WorkerIndex(100)
    served(index, "aabbb", "aaccc", "aaddd")
    index.trim(9)
    assert [known(index, p) for p in ("aabbb", "aaccc", "aaddd")] == [3, 5, 5]
    index.trim(2)
    assert [known(index, p) for p in ("aabbb", "aaccc", "aaddd")] == [2, 2, 2]


def test_blocks_in_flight_are_never_evicted() -> None:
    """Trimming to nothing keeps what is pinned."""
    index = WorkerIndex(100)
    index.pin(chain("abc"), 0)
    served(index, "abcde")
    index.trim(0)
    assert known(index, "abcde") == 3
    assert (index.pinned, index.cached) == (3, 0)


def test_a_conversation_stays_one_run() -> None:
    """Turns that only append are merged when they end: no walk through fifty runs, no split nodes left behind."""
    index = WorkerIndex(1000)
    for turn in range(1, 50):
        served(index, "x" * turn * 3)
    assert known(index, "x" * 200) == 147
    assert runs(index) == 1


def test_merging_keeps_the_branches() -> None:
    """A run whose only child has children of its own is not merged with it."""
    index = WorkerIndex(100)
    served(index, "ax", "abc", "abd")
    index.trim(4)
    served(index, "ab")
    assert [known(index, p) for p in ("abc", "abd", "abe", "ax")] == [3, 3, 2, 1]
    assert index.cached == 4


def test_runs_are_bounded_too() -> None:
    """One-block prompts cost more than their block, so at most a quarter of the capacity of them is kept."""
    index = WorkerIndex(400)
    for i in range(1000):
        run, _ = index.pin([i], 0)
        index.unpin(run, computed=True)
        index.trim(400)
    assert len(index) == 100
    assert [index.match([i])[0] for i in (899, 900, 999)] == [0, 1, 1]


def test_two_missed_hits_forget_the_prompt() -> None:
    """Twice in a row nothing of a predicted hit: no prompt that begins alike is believed in; others are."""
    index = WorkerIndex(100)
    served(index, "ab", "acd", "zz")
    for missed, left in ((True, 2), (False, 2), (True, 2), (None, 2), (True, 0)):
        run, _ = index.pin(chain("ab"), 0)
        index.unpin(run, computed=True, missed=missed)
        assert known(index, "ab") == left
    assert known(index, "acd") == 0
    assert known(index, "zz") == 2
    assert len(index) == 2


def test_forgetting_spares_what_is_in_flight() -> None:
    """A forgotten prompt keeps the blocks that another request has pinned, and that one ends as usual."""
    index = WorkerIndex(100)
    served(index, "abc")
    other, _ = index.pin(chain("ab"), 0)
    for _ in range(2):
        run, _ = index.pin(chain("abc"), 2)
        index.unpin(run, computed=True, missed=True)
    assert index.match(chain("abc")) == (2, 2, 2)
    index.unpin(other, computed=True)
    assert known(index, "abc") == 2


def test_an_empty_prompt_holds_nothing() -> None:
    """A prompt shorter than a block can be pinned and released, with or without a response."""
    index = WorkerIndex(100)
    for output in ("", "ab"):
        run, whole = index.pin([], 0)
        assert whole
        index.unpin(run, computed=True, output_blocks=chain(output), missed=False)
    assert known(index, "ab") == 2


def test_kv_events_replace_the_prediction() -> None:
    """With the first event the cached blocks are the exact set's start; then only events add or remove."""
    index = WorkerIndex(100)
    served(index, "abcd")
    assert not index.exact
    index.remove(chain("abcd")[3:])
    assert index.exact
    assert known(index, "abcd") == 3
    served(index, "xyz")
    index.trim(100)
    assert known(index, "xyz") == 0
    index.store(chain("xyz"))
    assert index.match(chain("xyz")) == (3, 3, 0)


def test_a_hole_ends_the_match() -> None:
    """Deep blocks without their root (a subscription that began mid-stream) are no overlap."""
    index = WorkerIndex(100)
    index.store(chain("abcdefgh"))
    for gone, left in ((6, 6), (2, 2), (0, 0)):
        index.remove([chain("abcdefgh")[gone]])
        assert known(index, "abcdefgh") == left


def test_kv_events_cannot_fill_the_memory() -> None:
    """At most half the capacity is kept of them; when the capacity shrinks, the newest go."""
    index = WorkerIndex(20)
    index.store(list(range(50)))
    assert len(index) == 10
    index.capacity = 8
    index.trim(8)
    assert index.match(list(range(50)))[0] == 4


@example([([1, 0, 0, 0, 0, 0], True, []), ([1, 0, 1, 0, 0, 1], True, [])], 6)
@given(
    st.lists(
        st.tuples(st.lists(st.integers(-3, 3), max_size=6), st.booleans(), st.lists(st.integers(-3, 3), max_size=3)),
        max_size=25,
    ),
    st.integers(0, 12),
)
def test_any_numbers_are_safe(requests: list[tuple[list[int], bool, list[int]]], capacity: int) -> None:
    """Hashes that are not chained, repeat or are negative neither raise nor break the bound."""
    index = WorkerIndex(capacity)
    flying = []
    for blocks, computed, output in requests:
        run, _ = index.pin(blocks, index.match(blocks)[2])
        flying.append((run, computed, output))
        if len(flying) > 3:
            run, computed, output = flying.pop(0)
            index.unpin(run, computed=computed, output_blocks=output)
        index.trim(capacity)
        assert len(index) <= capacity
