"""prefix.radix_node: how a key goes down a tree of pages, and where it parts from a node."""

from hypothesis import given
from hypothesis import strategies as st

from prefix.radix_node import Node, common_bytes, descend

WIDTH = 2
PAGES = st.lists(st.sampled_from([b"aa", b"ab", b"ba"]), max_size=12).map(b"".join)


def chain(*keys: bytes) -> tuple[Node, list[Node]]:
    """A root with one node below another."""
    root = Node(b"", b"", None, 0, 0)
    nodes, parent = [], root
    for key in keys:
        parent.children[key[:WIDTH]] = node = Node(key, key[:WIDTH], parent, 0, len(key) // WIDTH)
        nodes.append(node)
        parent = node
    return root, nodes


@given(PAGES, PAGES)
def test_common_bytes_are_whole_pages(left: bytes, right: bytes) -> None:
    """As a comparison page by page has it, of keys that share their first page."""
    held, key = b"aa" + left, b"aa" + right
    most = min(len(held), len(key))
    expected = next((at for at in range(0, most, WIDTH) if held[at : at + WIDTH] != key[at : at + WIDTH]), most)
    assert common_bytes(held, b"__" + key, 2, 2 + len(key), WIDTH) == expected


def test_a_key_descends_as_far_as_whole_nodes_go() -> None:
    """Through both nodes, into the second half-way, or nowhere."""
    root, (upper, lower) = chain(b"aaab", b"baba")
    assert descend(root, b"aaabbaba", 0, 8, WIDTH, None) == (lower, 8, None)
    assert descend(root, b"aaabbabb", 0, 8, WIDTH, None) == (upper, 4, lower)
    assert descend(root, b"aaabbaba", 0, 6, WIDTH, None) == (upper, 4, lower)
    assert descend(root, b"bbab", 0, 4, WIDTH, None) == (root, 0, None)
    assert descend(root, b"aaab", 0, 4, WIDTH, "other namespace") == (root, 0, None)
    assert descend(upper, b"aaabbaba", 4, 8, WIDTH, "of the root only") == (lower, 8, None)
