"""telemetry.tree: what prompts share, in exact shares, bounded."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefix.blocks import BLOCK_BYTES, block_hashes
from telemetry.tree import NODES, PROMPTS, Chain, Recent, tree

texts = st.lists(st.lists(st.sampled_from("ab"), max_size=6), max_size=12)


def chain(text: Sequence[str], version: str = "v1") -> Chain:
    """A prompt with a block for each letter, 128 tokens a block."""
    blocks = block_hashes(b"".join(letter.encode() * BLOCK_BYTES for letter in text), 7)
    return Chain(version, blocks, len(blocks) * BLOCK_BYTES, len(blocks) * 128)


@given(texts)
def test_the_tree_is_that_of_the_prompts(prompts: list[list[str]]) -> None:
    """Every prefix has one node that counts the prompts that begin so; children part from the end of their parent."""
    nodes = tree([chain(prompt) for prompt in prompts])
    wanted = {tuple(prompt[: at + 1]) for prompt in prompts for at in range(len(prompt))}
    assert sum(node.tokens for node in nodes) == 128 * len(wanted)
    by_id = {node.id: node for node in nodes}
    for place, node in enumerate(nodes):
        begins = [prompt for prompt in prompts if chain(prompt).blocks[: len(node.blocks)] == node.blocks]
        assert node.requests == len(begins)
        assert node.share == len(begins) / len(prompts)
        assert node.depth_tokens + node.tokens == 128 * len(node.blocks)
        if node.parent is not None:
            parent = by_id[node.parent]
            assert parent in nodes[:place]
            assert parent.depth_tokens + parent.tokens == node.depth_tokens
            assert parent.requests > node.requests or sum(n.parent == parent.id for n in nodes) > 1


def test_the_biggest_nodes_are_shown_and_their_ancestors() -> None:
    """However many prompts part: 200 nodes, and none without its parent."""
    prompts = [chain(f"{number:b}".replace("0", "a").replace("1", "b") * 3) for number in range(PROMPTS)]
    nodes = tree(prompts)
    known = {node.id for node in nodes}
    assert len(nodes) == NODES
    assert all(node.parent is None or node.parent in known for node in nodes)


def test_versions_of_a_node_are_the_most_frequent() -> None:
    """At most five."""
    versions = ["x"] * 3 + ["y"] * 2 + ["z"] + list("abcdef")
    (node,) = tree([chain("a", version) for version in versions])
    assert node.prompt_versions[:2] == ["x", "y"]
    assert len(node.prompt_versions) == 5


def test_the_last_prompts_of_a_route_are_kept() -> None:
    """A bounded number, of a bounded length; nothing is known of another route; no prompts make no tree."""
    recent = Recent()
    for number in range(PROMPTS + 50):
        recent.record("r", f"v{number}", list(range(1000)), 512_000, 128_000)
    kept = recent.of("r")
    assert (len(kept), kept[-1].version, len(kept[0].blocks)) == (PROMPTS, f"v{PROMPTS + 49}", 256)
    assert tree(recent.of("elsewhere")) == []
    (node,) = tree(kept)
    assert node.tokens == pytest.approx(256 * 128)
