"""The cache model: SGLang's radix cache, page by page, without a GPU.

One idea: a prompt is a byte string of fixed-width pages, so that matching is a comparison of bytes in C and a
node holds one slice. With token ids a page is `page_tokens` little-endian int32 (`token_key`); with hashed
blocks it is one hash per block. What is modelled, and in which order, was read in SGLang 0.5.23
(mem_cache/unified_cache/unified_tree_core.py and components/full.py, the Python twin of the Rust core that
the server runs) and is held equal to the running engine by tests/integration:

- A match ends at a page; a node that is matched in part is split there.
- Recency is a logical clock. A match touches its path, deeper is later. An insert touches its path from the
  root down, and the far half of a node it splits comes last of all. A split makes that half recent.
- Eviction takes whole leaves, the least recently touched first, until there is room; a parent left without
  children is the next leaf. Nodes on the path to a locked node stay.
- The pool is shared: `capacity = cached (in the tree) + held (by running requests) + free`.
"""

from array import array
from collections.abc import Hashable, Sequence
from heapq import heappop, heappush
from typing import Protocol

from prefix.radix_node import Node, Slot, common_bytes, descend

TOKEN_BYTES = 4


def token_key(tokens: Sequence[int]) -> bytes:
    """The key of a token id sequence: 4 bytes a token. Ids are 0 <= id < 2**31."""
    return array("i", tokens).tobytes()


def cacheable_tokens(prompt_tokens: int, page_tokens: int) -> int:
    """The most tokens of a prompt that can be cached: whole pages, never the last token."""
    return max(0, (prompt_tokens - 1) // page_tokens * page_tokens)


class Observer(Protocol):
    """Told of what happens to the nodes of a cache."""

    def stored(self, leaf: Node, namespace: Hashable, /) -> None:
        """A leaf was added."""

    def split(self, near: Node, far: Node, /) -> None:
        """A node was cut in two; `far` is the one that was there."""

    def evicted(self, node: Node, /) -> None:
        """A leaf was taken out."""

    def cleared(self) -> None:
        """Everything was."""


class RadixCache:
    """A radix tree over pages and the token pool that it shares with the running requests.

    capacity_tokens is cut to whole pages. page_bytes is the width of one page in a key: 4 bytes a token unless
    keys are made of hashed blocks. Namespaces (any hashable value) never share a node. held_tokens: what running
    requests have taken of the free tokens; theirs to count up and down. observer: told of every change.
    """

    def __init__(self, capacity_tokens: int, page_tokens: int = 1, *, page_bytes: int | None = None) -> None:
        self.page_tokens = page_tokens
        self.page_bytes = page_bytes or TOKEN_BYTES * page_tokens
        self.capacity_tokens = capacity_tokens // page_tokens * page_tokens
        self.evicted_tokens = 0
        self.evicted_nodes = 0
        self.observer: Observer | None = None
        self.reset()

    def reset(self) -> None:
        """Forget everything (a restart or a flush): an empty tree, nothing held."""
        self._clock = 0
        self.root = Node(b"", b"", None, 0, 0)
        self.root.locks = 1
        self._leaves: list[tuple[int, int, Node]] = []
        self.cached_tokens = 0
        self.evictable_tokens = 0
        self.held_tokens = 0
        if self.observer is not None:
            self.observer.cleared()

    @property
    def free_tokens(self) -> int:
        """Tokens of the pool that are neither cached nor held."""
        return self.capacity_tokens - self.cached_tokens - self.held_tokens

    @property
    def available_tokens(self) -> int:
        """Tokens that are free or may be evicted."""
        return self.capacity_tokens - self.cached_tokens - self.held_tokens + self.evictable_tokens

    def aligned(self, tokens: int) -> int:
        """`tokens` rounded up to whole pages."""
        return -(-tokens // self.page_tokens) * self.page_tokens

    def match(self, key: bytes, tokens: int, namespace: Hashable = None) -> tuple[Node, int]:
        """The deepest node that covers a prefix of the first `tokens` tokens, and how many tokens it covers."""
        width = self.page_bytes
        end = tokens // self.page_tokens * width
        node, at, left = descend(self.root, key, 0, end, width, namespace)
        if left is not None:
            common = common_bytes(left.key, key, at, end, width)
            node = self._split(left, common)
            at += common
        self._clock = node.touched = self._clock + 1
        return node, at // width * self.page_tokens

    def peek(self, key: bytes, tokens: int, namespace: Hashable = None) -> int:
        """How many of the first `tokens` tokens are cached; changes nothing."""
        end = tokens // self.page_tokens * self.page_bytes
        _, at, left = descend(self.root, key, 0, end, self.page_bytes, namespace)
        if left is not None:
            at += common_bytes(left.key, key, at, end, self.page_bytes)
        return at // self.page_bytes * self.page_tokens

    def insert(
        self, key: bytes, tokens: int, namespace: Hashable = None, *, below: Node | None = None, known: int = 0
    ) -> tuple[Node, int]:
        """Store the whole pages of the first `tokens` tokens; their last node and how many were there before.

        The new ones are taken from the pool's free tokens: give back what the request held for them.
        below: a locked node that covers the first `known` of these tokens, so that the way to it is known too.
        """
        width, page = self.page_bytes, self.page_tokens
        end = tokens // page * width
        top = self.root if below is None else below
        node, at, left = descend(top, key, known // page * width, end, width, namespace)
        self._clock = node.touched = self._clock + 1
        if left is not None:
            common = common_bytes(left.key, key, at, end, width)
            node = self._split(left, common)
            at += common
        if at < end:
            node = self._add_leaf(node, self._slot(key, at, namespace), key[at:end])
            if self.observer is not None:
                self.observer.stored(node, namespace)
        return node, at // width * page

    def lock(self, node: Node) -> None:
        """Keep `node` and all above it until `unlock`; locks count."""
        while not node.locks:
            node.locks = 1
            self.evictable_tokens -= node.tokens
            assert node.parent is not None
            node = node.parent
        node.locks += 1

    def lock_deeper(self, node: Node, below: Node) -> None:
        """Lock `below` instead of `node`, which is locked and on the way to it."""
        if below is not node:
            self.lock(below)
            node.locks -= 1

    def unlock(self, node: Node) -> None:
        """Undo one `lock` of this node."""
        while node.locks == 1:
            node.locks = 0
            self.evictable_tokens += node.tokens
            if not (node.children or node.queued):
                self._offer(node)
            assert node.parent is not None
            node = node.parent
        node.locks -= 1

    def make_room(self, tokens: int) -> bool:
        """Evict until `tokens` are free or no leaf may go; whether they are free."""
        most = self.capacity_tokens - self.held_tokens - tokens
        while self.cached_tokens > most and self._leaves:
            self._evict_next()
        return self.cached_tokens <= most

    def serve(self, key: bytes, tokens: int, namespace: Hashable = None) -> int:
        """One prompt alone on the engine, from match to insert; returns its cached tokens."""
        node, cached = self.match(key, cacheable_tokens(tokens, self.page_tokens), namespace)
        self.lock(node)
        if self.make_room(self.aligned(tokens) - cached):
            self.insert(key, tokens, namespace, below=node, known=cached)
        self.unlock(node)
        return cached

    def _slot(self, key: bytes, at: int, namespace: Hashable) -> Slot:
        page = key[at : at + self.page_bytes]
        return page if at or namespace is None else (namespace, page)

    def _split(self, child: Node, at: int) -> Node:
        """Cut `child` after `at` bytes; the new near half, which is locked when it is."""
        parent = child.parent
        assert parent is not None
        key = child.key
        tokens = at // self.page_bytes * self.page_tokens
        near = Node(key[:at], child.slot, parent, self._clock + 1, tokens)
        near.locks = 1 if child.locks else 0
        parent.children[near.slot] = near
        child.key = key[at:]
        child.tokens -= tokens
        child.parent = near
        child.slot = child.key[: self.page_bytes]
        near.children[child.slot] = child
        if self.observer is not None:
            self.observer.split(near, child)
        self._clock = child.touched = self._clock + 2
        return near

    def _add_leaf(self, parent: Node, slot: Slot, key: bytes) -> Node:
        self._clock += 1
        tokens = len(key) // self.page_bytes * self.page_tokens
        leaf = parent.children[slot] = Node(key, slot, parent, self._clock, tokens)
        self.cached_tokens += tokens
        self.evictable_tokens += tokens
        self._offer(leaf)
        return leaf

    def _offer(self, leaf: Node) -> None:
        """Queue a leaf for eviction. Its stamp may age there, or it may be locked: `_evict_next` looks again."""
        leaf.queued = True
        heappush(self._leaves, (leaf.touched, id(leaf), leaf))

    def _evict_next(self) -> None:
        stamp, _, node = heappop(self._leaves)
        node.queued = False
        if node.locks or node.children:
            return
        if node.touched != stamp:
            self._offer(node)
            return
        parent = node.parent
        assert parent is not None
        del parent.children[node.slot]
        tokens = node.tokens
        self.cached_tokens -= tokens
        self.evictable_tokens -= tokens
        self.evicted_tokens += tokens
        self.evicted_nodes += 1
        if self.observer is not None:
            self.observer.evicted(node)
        if parent.touched < stamp:
            parent.touched = stamp
        if not (parent.locks or parent.children or parent.queued):
            self._offer(parent)
