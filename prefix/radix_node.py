"""Nodes of the radix tree (prefix.radix): runs of pages, how a key descends through them and where it leaves one."""

from collections.abc import Hashable
from typing import TypeAlias

Slot: TypeAlias = bytes | tuple[Hashable, bytes]
"""What a child is found by: its first page, below the root with its namespace."""


class Node:
    """A run of pages below its parent.

    tokens: in it. locks: requests that hold it and children that are locked, so 0 means that nothing below is held.
    touched: when it was last the end of a way from the root; a parent learns its children's when they are evicted.
    queued: whether it has an entry in the heap of leaves.
    """

    __slots__ = ("children", "key", "locks", "parent", "queued", "slot", "tokens", "touched")

    def __init__(self, key: bytes, slot: Slot, parent: "Node | None", touched: int, tokens: int) -> None:
        self.key = key
        self.slot = slot
        self.parent = parent
        self.children: dict[Slot, Node] = {}
        self.locks = 0
        self.tokens = tokens
        self.touched = touched
        self.queued = False


def descend(
    node: Node, key: bytes, at: int, end: int, width: int, namespace: Hashable
) -> tuple[Node, int, Node | None]:
    """Follow key[at:end] below `node`: the last node passed whole, the byte reached, the node left half-way.

    width: bytes of a page.
    """
    if not at and namespace is not None and end:
        first = node.children.get((namespace, key[:width]))
        if first is None:
            return node, 0, None
        at = len(first.key)
        if at > end or not key.startswith(first.key):
            return node, 0, first
        node = first
    while at < end:
        child = node.children.get(key[at : at + width])
        if child is None:
            break
        held = child.key
        after = at + len(held)
        if after > end or not key.startswith(held, at):
            return node, at, child
        at = after
        node = child
    return node, at, None


def common_bytes(held: bytes, key: bytes, at: int, end: int, width: int) -> int:
    """Bytes of whole pages that `held` shares with key[at:end], at least one page."""
    most = min(len(held), end - at)
    if key.startswith(held[:most], at):
        return most
    low, high = 1, most // width
    while high - low > 1:
        middle = (low + high) // 2
        if held[low * width : middle * width] == key[at + low * width : at + middle * width]:
            low = middle
        else:
            high = middle
    return low * width
