"""The cache model: what is matched, what is kept, what goes first."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefix.radix import RadixCache, cacheable_tokens, token_key
from tests.cases import case

ROUNDING = case(33)


@dataclass
class Entry:
    """A node of the reference: its pages, and when it was last used."""

    pages: list[tuple[int, ...]]
    used: int
    children: list["Entry"] = field(default_factory=list)


class Reference:
    """The same cache, written naively: lists of pages, and an eviction that looks at every leaf."""

    def __init__(self, capacity: int, page: int) -> None:
        self.capacity, self.page, self.now = capacity // page * page, page, 0
        self.root = Entry([], 0)

    def size(self) -> int:
        return sum(len(entry.pages) for entry, _ in self.entries()) * self.page

    def entries(self, parent: Entry | None = None) -> list[tuple[Entry, Entry]]:
        parent = parent or self.root
        return [pair for child in parent.children for pair in [(child, parent), *self.entries(child)]]

    def tick(self) -> int:
        self.now += 1
        return self.now

    def cut(self, parent: Entry, child: Entry, pages: int) -> Entry:
        near = Entry(child.pages[:pages], self.tick(), [child])
        parent.children[parent.children.index(child)] = near
        child.pages = child.pages[pages:]
        child.used = self.tick()
        return near

    def walk(self, pages: list[tuple[int, ...]], *, touch: bool) -> tuple[list[Entry], int]:
        path, at = [self.root], 0
        while child := next((c for c in path[-1].children if at < len(pages) and c.pages[0] == pages[at]), None):
            if touch:
                child.used = self.tick()
            same = 0
            while same < min(len(child.pages), len(pages) - at) and child.pages[same] == pages[at + same]:
                same += 1
            at += same
            if same < len(child.pages):
                path.append(self.cut(path[-1], child, same))
                break
            path.append(child)
        return path, at

    def pages(self, tokens: list[int], count: int) -> list[tuple[int, ...]]:
        whole = count // self.page
        return [tuple(tokens[i * self.page : (i + 1) * self.page]) for i in range(whole)]

    def serve(self, tokens: list[int]) -> int:
        path, at = self.walk(self.pages(tokens, len(tokens) - 1), touch=False)
        for entry in path:
            entry.used = self.tick()
        cached = at * self.page
        need = -(-len(tokens) // self.page) * self.page - cached
        while self.capacity - self.size() < need:
            leaves = [(e, p) for e, p in self.entries() if not e.children and not any(e is kept for kept in path)]
            if not leaves:
                return cached
            entry, parent = min(leaves, key=lambda pair: pair[0].used)
            parent.children = [child for child in parent.children if child is not entry]
        pages = self.pages(tokens, len(tokens))
        path, at = self.walk(pages, touch=True)
        if at < len(pages):
            path[-1].children.append(Entry(pages[at:], self.tick()))
        return cached


prompts = st.lists(
    st.lists(st.integers(0, 1), min_size=1, max_size=24),
    min_size=1,
    max_size=60,
)


@settings(max_examples=150, deadline=None)
@given(prompts=prompts, page=st.sampled_from([1, 2, 4]), capacity=st.integers(8, 48))
def test_equals_a_naive_cache(prompts: list[list[int]], page: int, capacity: int) -> None:
    """Every prompt finds as many cached tokens as in a cache written without any cleverness."""
    cache, reference = RadixCache(capacity, page), Reference(capacity, page)
    for prompt in prompts:
        assert cache.serve(token_key(prompt), len(prompt)) == reference.serve(prompt)
        assert cache.cached_tokens == reference.size()


@settings(max_examples=100, deadline=None)
@given(
    steps=st.lists(st.tuples(st.lists(st.integers(0, 1), min_size=1, max_size=16), st.booleans()), max_size=40),
    page=st.sampled_from([1, 3]),
)
def test_the_pool_is_never_overdrawn(steps: list[tuple[list[int], bool]], page: int) -> None:
    """Cached, held and free add up; what is locked stays; all that is unlocked can be evicted."""
    cache = RadixCache(30, page)
    locked = []
    for tokens, lock in steps:
        key = token_key(tokens)
        if lock and cache.make_room(len(tokens)):
            node, _ = cache.insert(key, len(tokens))
            cache.lock(node)
            locked.append((key, len(tokens), node))
        else:
            cache.serve(key, len(tokens))
        assert cache.free_tokens >= 0
        assert 0 <= cache.evictable_tokens <= cache.cached_tokens
        for kept, count, _ in locked:
            assert cache.peek(kept, count) == count // page * page
    for _, _, node in locked:
        cache.unlock(node)
    assert cache.evictable_tokens == cache.cached_tokens
    assert cache.make_room(cache.capacity_tokens)
    assert cache.cached_tokens == 0
    assert not cache.root.children


ROUNDED = list(
    zip(ROUNDING["input"]["repeat_of_prompt_tokens_and_page"], ROUNDING["expected"]["cached_tokens"], strict=True)
)


@pytest.mark.parametrize(("row", "cached"), ROUNDED)
def test_a_repeat_is_cut_to_whole_pages(row: dict[str, int], cached: int) -> None:
    """An exact repeat finds whole pages and never the last token (case 33)."""
    tokens, page = row["prompt_tokens"], row["page"]
    cache = RadixCache(100_000, page)
    key = token_key(range(tokens))
    assert cache.serve(key, tokens) == 0
    assert cache.serve(key, tokens) == cached == cacheable_tokens(tokens, page)


def test_namespaces_never_share() -> None:
    """The same tokens in another namespace are other tokens (case 37)."""
    spaces = [None, *(tuple(request.values()) for request in case(37)["input"]["requests"])]
    cache, key = RadixCache(1_000), token_key(range(50))
    assert [cache.serve(key, 50, space) for space in spaces] == [0] * 5
    assert [cache.serve(key, 50, space) for space in spaces] == [49] * 5


def test_the_least_recently_used_leaf_goes_whole() -> None:
    """Eviction takes the oldest leaf, all of it, and no more leaves than needed."""
    cache = RadixCache(30)
    for first in (1, 2, 3):
        cache.serve(token_key([first] * 10), 10)
    cache.match(token_key([1] * 10), 10)
    assert cache.make_room(1)
    assert [cache.peek(token_key([first] * 10), 10) for first in (1, 2, 3)] == [10, 0, 10]
    assert (cache.evicted_tokens, cache.evicted_nodes) == (10, 1)


def test_leaves_go_before_their_parents() -> None:
    """A shared prefix outlives its branches, however old it is."""
    cache = RadixCache(40)
    prefix = [7] * 10
    for branch in (1, 2, 3):
        cache.serve(token_key(prefix + [branch] * 10), 20)
    assert cache.make_room(25)
    assert cache.peek(token_key(prefix), 10) == 10
    assert cache.cached_tokens == 10


def test_splitting_makes_the_far_half_recent() -> None:
    """As in SGLang: a match that ends inside a node refreshes what lies behind the cut."""
    cache = RadixCache(40)
    old, young = token_key([1] * 20), token_key([2] * 20)
    cache.insert(old, 20)
    cache.insert(young, 20)
    cache.match(old, 5)
    assert cache.make_room(20)
    assert cache.peek(old, 20) == 20
    assert cache.peek(young, 20) == 0


@settings(max_examples=150, deadline=None)
@given(prompts=prompts, page=st.sampled_from([1, 2]), cuts=st.lists(st.floats(0, 1), min_size=60, max_size=60))
def test_a_prompt_stored_in_pieces_is_as_if_stored_at_once(
    prompts: list[list[int]], page: int, cuts: list[float]
) -> None:
    """Continuing below a locked node finds, splits and evicts as starting from the root does."""
    whole, pieces = RadixCache(64, page), RadixCache(64, page)
    for prompt, cut in zip(prompts, cuts, strict=False):
        key, size = token_key(prompt), len(prompt)
        first = int(size * cut) // page * page
        for cache in (whole, pieces):
            node, known = cache.match(key, first)
            cache.lock(node)
            assert cache.make_room(size - known)
            below, _ = cache.insert(key, first)
            cache.lock_deeper(node, below)
            assert cache.make_room(size - first)
            given = {"below": below, "known": first} if cache is pieces else {}
            end, there = cache.insert(key, size, **given)
            cache.lock_deeper(below, end)
            assert first <= there <= size
            cache.unlock(end)
        assert whole.cached_tokens == pieces.cached_tokens
        assert whole.evictable_tokens == pieces.evictable_tokens == pieces.cached_tokens
        assert whole.available_tokens == 64 // page * page
        assert [whole.peek(token_key(p), len(p)) for p in prompts] == [
            pieces.peek(token_key(p), len(p)) for p in prompts
        ]


def test_held_tokens_are_taken_from_the_pool() -> None:
    """What requests hold is not free, cannot be evicted, and comes back."""
    cache = RadixCache(20)
    cache.serve(token_key(range(12)), 12)
    assert cache.make_room(15)
    cache.held_tokens += 15
    assert not cache.make_room(6)
    cache.held_tokens -= 15
    assert cache.make_room(20)


def test_hashed_blocks_are_pages_too() -> None:
    """Keys may be one hash a page: the width of a page in the key is not its tokens."""
    cache = RadixCache(10 * 512, 512, page_bytes=8)
    key = b"".join(block.to_bytes(8, "little") for block in range(4))
    assert cache.serve(key, 4 * 512) == 0
    assert cache.serve(key, 4 * 512) == 3 * 512


def test_capacity_is_whole_pages_and_reset_forgets() -> None:
    """A part of a page is no capacity; after a reset nothing is known."""
    cache = RadixCache(100, 16)
    assert cache.capacity_tokens == 96
    cache.serve(token_key(range(90)), 90)
    cache.reset()
    assert (cache.cached_tokens, cache.free_tokens, cache.serve(token_key(range(90)), 90)) == (0, 96, 0)


def test_a_prompt_beyond_the_pool_is_not_stored() -> None:
    """What does not fit leaves the cache as it was, but for what had to make room."""
    cache = RadixCache(10)
    assert cache.serve(token_key(range(20)), 20) == 0
    assert cache.cached_tokens == 0
