"""Runs: the tree in which prompts with one beginning share it.

One idea: block hashes are chained, so equal hash means equal whole prefix. A radix tree whose edges are runs of
hashes therefore compares a whole run by its last hash, and finds where a prompt leaves a run by bisection.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence


class Run:
    """Consecutive blocks always asked for together; the runs from the root to a run are one prompt.

    pins, computed, strikes: what prefix.index notes.
    """

    __slots__ = ("blocks", "children", "computed", "parent", "pins", "strikes")

    def __init__(self, blocks: list[int], parent: "Run | None") -> None:
        self.blocks = blocks
        self.parent = parent
        self.children: dict[int, Run] = {}
        self.pins = 0
        self.computed = False
        self.strikes = 0


def insert(run: Run, blocks: Sequence[int]) -> Run:
    """The run at whose end the path of `blocks` below `run` ends; what is missing is made."""
    at, size = 0, len(blocks)
    while at < size:
        child = run.children.get(blocks[at])
        if child is None:
            child = run.children[blocks[at]] = Run(list(blocks[at:]), run)
            return child
        held = child.blocks
        end = at + len(held)
        if end <= size and held[-1] == blocks[end - 1]:
            run, at = child, end
        else:
            same = shared_blocks(held, blocks, at)
            run, at = split(child, run, same), at + same
    return run


def shared_blocks(held: list[int], blocks: Sequence[int], start: int) -> int:
    """How many blocks of a run agree with blocks[start:]; one or more do."""
    size = min(len(held), len(blocks) - start)
    return bisect_left(range(size), True, key=lambda i: held[i] != blocks[start + i])


def split(run: Run, parent: Run, size: int) -> Run:
    """The new run of the first `size` blocks of `run`, which keeps the rest (and stays what requests refer to)."""
    upper = Run(run.blocks[:size], parent)
    upper.pins, upper.computed, upper.strikes = run.pins, run.computed, run.strikes
    run.blocks = run.blocks[size:]
    run.parent = upper
    upper.children[run.blocks[0]] = run
    parent.children[upper.blocks[0]] = upper
    return upper


def first_run(run: Run) -> Run:
    """The first run of the prompt of `run`."""
    while run.parent is not None and run.parent.parent is not None:
        run = run.parent
    return run


def subtree(top: Run) -> Iterator[Run]:
    """`top` and all runs below it, parents first."""
    todo = [top]
    while todo:
        run = todo.pop()
        yield run
        todo += run.children.values()
