"""prefix.runs: the tree below the index."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from prefix.runs import Run, first_run, insert, shared_blocks, split, subtree


def chain(tokens: str) -> list[int]:
    """A prompt of one block a character, with chained hashes."""
    return [hash(("chain", tokens[: i + 1])) for i in range(len(tokens))]


def path(run: Run) -> list[int]:
    """The blocks from the root to the end of `run`."""
    blocks: list[int] = []
    while run.parent is not None:
        blocks = run.blocks + blocks
        run = run.parent
    return blocks


@given(st.lists(st.text("ab", max_size=8), max_size=12))
def test_every_prompt_ends_at_its_run(prompts: list[str]) -> None:
    """After any insertions each prompt ends at a run that spells it, and no two children begin alike."""
    root = Run([], None)
    for prompt in prompts:
        assert path(insert(root, chain(prompt))) == chain(prompt)
    for prompt in prompts:
        before = len(list(subtree(root)))
        assert path(insert(root, chain(prompt))) == chain(prompt)
        assert len(list(subtree(root))) == before
    for run in subtree(root):
        assert all(child.blocks[0] == first and child.parent is run for first, child in run.children.items())


def test_split_keeps_the_lower_run() -> None:
    """Requests hold the deepest run, so a split makes a new upper one, with the same pins and state."""
    root = Run([], None)
    run = insert(root, chain("abcd"))
    run.pins, run.computed, run.strikes = 2, True, 1
    upper = split(run, root, 3)
    assert (upper.blocks, run.blocks) == (chain("abcd")[:3], chain("abcd")[3:])
    assert (upper.pins, upper.computed, upper.strikes) == (2, True, 1)
    assert run.parent is upper
    assert first_run(run) is upper
    assert first_run(root) is root


def test_shared_blocks_counts_the_common_beginning() -> None:
    """From one shared block to all of the shorter one."""
    held = chain("abcd")
    for other, shared in (("axxx", 1), ("abxx", 2), ("abc", 3), ("abcd", 4), ("abcde", 4)):
        assert shared_blocks(held, [7, *chain(other)], 1) == shared


def test_subtree_gives_parents_first() -> None:
    """In reverse it is an order in which leaves come before what they hang on."""
    root = Run([], None)
    for prompt in ("ab", "abc", "abd", "x"):
        insert(root, chain(prompt))
    order = list(subtree(root))
    place = {run: i for i, run in enumerate(order)}
    assert all(place[run.parent] < place[run] for run in order if run.parent)
    assert len(order) == len(set(order)) == 5
    assert all(a is not b for a, b in pairwise(order))
