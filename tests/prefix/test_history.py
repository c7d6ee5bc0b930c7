"""prefix.history remembers what was finished, by whom, to the last byte, and within its bounds."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from prefix.blocks import block_hashes
from prefix.history import Finished, History, covered_bytes, path_of
from prefix.index import RUN_WEIGHT

SEED = 7


def text_of(words: list[int]) -> bytes:
    """A view: one block a word, and a short end that only this prompt has."""
    return b"".join(bytes([65 + word]) * 512 for word in words) + b"end %d" % len(words)


def steps(text: bytes, seed: int = SEED) -> list[int]:
    """The path of a view."""
    return path_of(text, seed, block_hashes(text, seed))


def finished(text: bytes, holder: int) -> Finished[Any]:
    """A prompt that came from its own text."""
    return Finished(text, text, holder, len(text))


prompts = st.lists(st.integers(0, 2), max_size=5)
holders = st.sampled_from((1, 2, 4))


@given(st.lists(st.tuples(prompts, holders), max_size=12), prompts, holders)
def test_it_finds_what_the_definition_says(done: list[tuple[list[int], int]], asked: list[int], holder: int) -> None:
    """The longest beginning that this holder, and that another one, has finished; the nearest prompt shares it."""
    history: History[bytes] = History()
    path = steps(text_of(asked))
    shared: dict[int, int] = {1: 0, 2: 0, 4: 0}
    for words, who in done:
        text = text_of(words)
        history.add(steps(text), finished(text, who))
        same = [one == other for one, other in zip(steps(text), path, strict=False)]
        shared[who] = max(shared[who], [*same, False].index(False))
    found = history.find(path, holder)
    assert found.mine == shared[holder]
    assert found.others == max(shared[who] for who in shared if who != holder)
    assert found.steps == max(shared.values())
    if done:
        assert found.nearest is not None
        covered = covered_bytes(found.steps, len(path), len(text_of(asked)))
        assert found.nearest.text[:covered] == text_of(asked)[:covered]
    mine = covered_bytes(shared[holder], len(path), len(text_of(asked)))
    assert (found.own is not None) == (shared[holder] > 0)
    assert found.own is None or found.own.text[:mine] == text_of(asked)[:mine]


@given(st.lists(st.tuples(prompts, holders), max_size=8), prompts, holders)
def test_a_last_step_is_found_without_searching_anew(
    done: list[tuple[list[int], int]], asked: list[int], holder: int
) -> None:
    """Behind all that was found, and behind what the asked holder finished: as a search of that path would."""
    history: History[bytes] = History()
    for words, who in done:
        history.add(steps(text_of(words)), finished(text_of(words), who))
    path = steps(text_of(asked))
    found = history.find(path, holder)
    for step in {steps(text_of(words))[-1] for words, _ in done}:
        longer = history.find([*path[: found.steps], step], holder)
        assert history.further(found, step, holder) == (longer if longer.steps > found.steps else None)
        if 0 < found.mine < found.steps:
            mine = history.find([*path[: found.mine], step], holder).mine
            assert history.holds_end(found, step, holder) == (mine > found.mine)


@given(st.lists(st.tuples(prompts, holders), max_size=30), st.integers(4, 40), st.integers(0, 6000))
def test_it_stays_within_its_bounds(done: list[tuple[list[int], int]], capacity: int, room: int) -> None:
    """Blocks, runs and bytes; the prompt finished last is known if it fits at all."""
    history: History[bytes] = History(capacity, room)
    for words, who in done:
        text = text_of(words)
        history.add(steps(text), finished(text, who))
        assert len(history) <= capacity
        assert history._entries == sum(map(len, history._latest.values())) <= capacity
        assert history.text_bytes <= room
        found = history.find(steps(text), who)
        if capacity >= RUN_WEIGHT * len(steps(text)):
            assert found.mine == len(steps(text))
            assert (found.nearest is not None) == (len(text) <= room)


def test_an_unconfirmed_prompt_has_text_and_no_holder() -> None:
    """Nobody said that it was held, but later prompts may part from it."""
    history: History[bytes] = History()
    text = text_of([1, 2])
    history.add(steps(text), finished(text, 1), confirmed=False)
    found = history.find(steps(text), 1)
    assert (found.steps, found.mine, found.others) == (4, 0, 0)
    assert found.nearest is not None


def test_a_repeat_is_kept_once() -> None:
    """The same prompt again costs nothing, and is its last holder's."""
    history: History[bytes] = History()
    text = text_of([1])
    first = history.add(steps(text), finished(text, 1))
    assert history.add(steps(text), finished(bytes(text), 2)) is first
    assert (first.holder, history.text_bytes, len(history)) == (2, len(text), 3)


def test_a_number_can_be_given_to_somebody_else() -> None:
    """What the one before held is not the next one's."""
    history: History[bytes] = History()
    text = text_of([1])
    history.add(steps(text), finished(text, 1))
    history.forget(1)
    assert history.find(steps(text), 1).mine == 0


def test_another_namespace_shares_nothing() -> None:
    """The seed is the first step."""
    history: History[bytes] = History()
    text = text_of([1, 1])
    history.add(steps(text), finished(text, 1))
    assert history.find(steps(text, seed=8), 1).steps == 0
