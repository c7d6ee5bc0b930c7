"""prefix.popularity: what many prompts go on from in different ways is shared, a long conversation is not."""

import random
import sys
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from prefix.blocks import block_hashes
from prefix.popularity import MAX_BLOCKS, Popularity


def chain(*parts: str) -> list[int]:
    """Block hashes of a prompt that has one block a part."""
    return block_hashes("".join(part.ljust(8, ".")[:8] for part in parts).encode(), 1, 8)


def observed(prompts: Sequence[Sequence[int]], ways: int = 4, capacity: int = 10_000) -> Popularity:
    """What is known after these prompts, one a second."""
    popularity = Popularity(ways=ways, capacity=capacity, window=1e6)
    for now, blocks in enumerate(prompts):
        popularity.observe(blocks, float(now))
    return popularity


def test_a_shared_beginning_ends_where_prompts_part() -> None:
    """System text and few-shots that everybody sends are shared, each question is not."""
    prompts = [chain("system", "shot 1", "shot 2", f"question {n}"[-8:], "end") for n in range(10)]
    assert [observed(prompts).shared_blocks(prompt) for prompt in (prompts[0], prompts[9])] == [3, 3]
    assert observed(prompts[:3]).shared_blocks(prompts[0]) == 0


def test_a_document_is_shared_by_those_who_ask_about_it() -> None:
    """The deepest place where enough prompts part counts, and only for the prompts that reach it."""
    asked = [chain("system", f"doc {n % 2}", f"q {n}") for n in range(12)]
    popularity = observed([*asked, *(chain("system", f"own {n}") for n in range(5))])
    assert popularity.shared_blocks(chain("system", "doc 1", "q new")) == 2
    assert popularity.shared_blocks(chain("system", "own 1", "q new")) == 1
    assert popularity.shared_blocks(chain("other", "doc 1")) == 0


def test_a_long_conversation_is_not_shared() -> None:
    """Fifty turns of one user repeat their history fifty times and share it with nobody."""
    turns = [f"turn {n}" for n in range(50)]
    conversation = [chain("system", *turns[:length]) for length in range(1, 51)]
    others = [chain("system", f"other {n}") for n in range(6)]
    popularity = observed([*conversation, *others])
    assert [popularity.shared_blocks(prompt) for prompt in conversation[::7]] == [1] * 8


def test_prompts_shorter_than_the_next_block_count_as_ways() -> None:
    """Behind the last full block the questions differ where no hash tells: each such prompt is one way to go on."""
    prompt = chain("system", "shots")
    assert observed([prompt] * 3).shared_blocks(prompt) == 0
    assert observed([prompt] * 4).shared_blocks(prompt) == 2


def test_what_is_no_longer_sent_is_forgotten() -> None:
    """After two windows without it a beginning is not shared any more; within the next one it still is."""
    popularity = Popularity(ways=2, window=100.0)
    old, new = ([chain(name, f"q {n}") for n in range(5)] for name in ("old", "new"))
    seen = []
    for now, prompts in ((0.0, old), (150.0, new), (260.0, new)):
        for blocks in prompts:
            popularity.observe(blocks, now)
        seen.append((popularity.shared_blocks(old[0]), popularity.shared_blocks(new[0])))
    assert seen == [(1, 0), (1, 1), (0, 1)]


def test_empty_prompts_and_an_empty_memory_share_nothing() -> None:
    """No blocks, nothing observed: zero, and no error."""
    assert Popularity().shared_blocks([]) == 0
    assert Popularity().shared_blocks(chain("a")) == 0
    assert observed([[]] * 9).shared_blocks([]) == 0


def test_only_the_front_of_a_huge_prompt_is_remembered() -> None:
    """One prompt of 100 MB cannot push out what the route shares."""
    popularity = observed([list(range(200_000))])
    assert len(popularity) == MAX_BLOCKS


TREES = st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=6), max_size=40)


@given(TREES, st.integers(2, 5))
def test_shared_is_what_counting_the_ways_says(prompts: list[list[str]], ways: int) -> None:
    """Against the definition, counted in full: distinct next blocks behind a beginning, and prompts ending there."""
    popularity = observed([chain(*prompt) for prompt in prompts], ways=ways)
    for prompt in prompts:
        deepest = 0
        for depth in range(1, len(prompt) + 1):
            begun = [other for other in prompts if other[:depth] == prompt[:depth]]
            nexts = {other[depth] for other in begun if len(other) > depth}
            ended = sum(len(other) == depth for other in begun)
            if len(nexts) + ended >= ways:
                deepest = depth
        assert popularity.shared_blocks(chain(*prompt)) == deepest


@given(TREES, st.integers(1, 30))
@settings(max_examples=50)
def test_memory_is_bounded(prompts: list[list[str]], capacity: int) -> None:
    """Two generations of `capacity` blocks at most, but for one prompt that is longer than that by itself."""
    longest = max(map(len, prompts), default=0)
    popularity = Popularity(ways=2, capacity=capacity)
    for now, prompt in enumerate(prompts):
        popularity.observe(chain(*prompt), float(now))
        assert len(popularity) <= 2 * max(capacity, longest)


def test_a_route_costs_few_bytes_a_block() -> None:
    """Under 120 bytes a block, hash included: 8 MB for a route with the default capacity."""
    rng = random.Random(1)
    shared = [rng.getrandbits(64) for _ in range(20)]
    popularity = Popularity(capacity=8192)
    for _ in range(1000):
        popularity.observe(shared + [rng.getrandbits(64) for _ in range(40)], 1.0)
    generations = popularity._younger, popularity._older
    size = sum(sys.getsizeof(part.ways) + sum(map(sys.getsizeof, part.ways)) for part in generations)
    assert popularity.shared_blocks(shared) == 20
    assert 8192 < len(popularity) <= 2 * 8192
    assert size / len(popularity) < 120
