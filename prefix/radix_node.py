"""Nodes of the radix tree (prefix.radix): runs of pages, how a key descends through them and where it leaves one."""

from collections.abc import Hashable
from typing import TypeAlias

Slot: TypeAlias = bytes | tuple[Hashable, bytes]
"""What a child is found by: its first page, below the root with its namespace."""


class Node:
    """A run of pages below its parent. `touched` orders nodes by recency; `queued` is its entry in the heap."""

    __slots__ = ("children", "key", "locks", "parent", "queued", "slot", "touched")

    def __init__(self, key: bytes, slot: Slot, parent: "Node | None", touched: int) -> None:
        self.key = key
        self.slot = slot
        self.parent = parent
        self.children: dict[Slot, Node] = {}
        self.locks = 0
        self.touched = touched
        self.queued = False

    def way(self) -> "list[Node]":
        """The nodes from the root's child down to this one."""
        way = []
        node = self
        while node.parent is not None:
            way.append(node)
            node = node.parent
        way.reverse()
        return way


def descend(
    node: Node, key: bytes, at: int, end: int, width: int, namespace: Hashable
) -> tuple[list[Node], int, Node | None]:
    """Follow key[at:end] below `node`: the nodes passed whole, the byte reached, the node left half-way.

    width: bytes of a page.
    """
    path: list[Node] = []
    while at < end:
        page = key[at : at + width]
        child = node.children.get(page if at or namespace is None else (namespace, page))
        if child is None:
            break
        size = len(child.key)
        if at + size > end or not key.startswith(child.key, at):
            return path, at, child
        at += size
        path.append(child)
        node = child
    return path, at, None


def common_bytes(held: bytes, key: bytes, at: int, end: int, width: int) -> int:
    """Bytes of whole pages that `held` shares with key[at:end], at least one page."""
    most = min(len(held), end - at)
    if held[:most] == key[at : at + most]:
        return most
    low, high = 1, most // width
    while high - low > 1:
        middle = (low + high) // 2
        if held[low * width : middle * width] == key[at + low * width : at + middle * width]:
            low = middle
        else:
            high = middle
    return low * width
