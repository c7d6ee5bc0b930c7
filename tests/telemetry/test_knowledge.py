"""telemetry.knowledge: what was known at dispatch, and what it makes of a report."""

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefix.blocks import block_hashes
from prefix.view import MESSAGE, View
from telemetry.knowledge import Explained, Knowledge


def words(size: int, seed: int) -> bytes:
    """Text that does not repeat itself."""
    return Random(seed).randbytes(size // 2).hex().encode()


class Fleet:
    """Prompts that are dispatched and end at once; four bytes are a token."""

    def __init__(self, **bounds: int) -> None:
        self.knowledge: Knowledge[bytes] = Knowledge(**bounds)

    def dispatch(
        self, text: bytes, worker: str = "a", *, salt: int = 0, held: int = 0, fleet: int = 0, **more: Any
    ) -> Any:
        """What is known of a prompt; blocks believed to be held by its worker and by any."""
        view = View(1 + salt, text, 0, None, 1 if salt else None)
        blocks = block_hashes(text, view.seed)
        return self.knowledge.at_dispatch(view, blocks, "v", worker, held_blocks=held, fleet_blocks=fleet, **more)

    def end(self, sight: Any, cached: int | None, *, page: int = 1, computed: bool = True) -> Explained[bytes]:
        """It ends, with this report."""
        tokens = len(sight.text) // 4
        return self.knowledge.finished(
            sight, sight.text, 0, prompt_tokens=tokens, cached_tokens=cached, page_tokens=page, computed=computed
        )

    def serve(self, text: bytes, worker: str = "a", cached: int | None = 0, **more: Any) -> dict[Any, int]:
        """Its uncached tokens by reason."""
        return self.end(self.dispatch(text, worker, **more), cached).uncached


PROMPT = words(4000, 1)


def test_what_a_report_confirmed_and_is_gone_is_evicted() -> None:
    """To the last byte of an exact repeat; a prompt that nobody reported on was never confirmed."""
    fleet = Fleet()
    assert fleet.serve(PROMPT) == {"page": 1, "new": 999}
    assert fleet.serve(PROMPT, held=7) == {"page": 1, "evicted": 999}
    other = words(4000, 2)
    assert fleet.serve(other, cached=None) == {"unknown": 1000}
    assert fleet.serve(other, held=7) == {"page": 1, "stale": 999}


def test_what_another_worker_holds_is_routed_away() -> None:
    """And what it held, but nobody does any more, is evicted."""
    fleet = Fleet()
    fleet.serve(PROMPT, "b")
    assert fleet.serve(PROMPT, "a", fleet=7) == {"page": 1, "routed_away": 999}
    fleet = Fleet()
    fleet.serve(PROMPT, "b")
    assert fleet.serve(PROMPT, "a") == {"page": 1, "evicted": 999}


def test_what_another_lost_is_routed_away_when_nobody_looked_who_held_it() -> None:
    """By turns the prompt would have come here as well, had the other forgotten nothing."""
    fleet = Fleet()
    fleet.serve(PROMPT, "b")
    sight = fleet.dispatch(PROMPT, "a", follows=False)
    assert fleet.end(sight, 0).uncached == {"page": 1, "routed_away": 999}


def test_its_own_worker_is_known_to_the_byte_where_others_went_further() -> None:
    """Beyond the block where its own prompts part from this one, not up to where the blocks end."""
    fleet = Fleet()
    shared = PROMPT[:2000]
    fleet.serve(shared + words(900, 2), "a")
    fleet.serve(PROMPT, "b")
    assert fleet.serve(PROMPT, "a", fleet=7) == {"page": 1, "evicted": 500, "routed_away": 499}


@pytest.mark.parametrize(("first", "second"), [(0, 5), (5, 0), (5, 6)])
def test_the_same_text_under_another_salt_is_isolated(first: int, second: int) -> None:
    """Either of them may be without a salt; under the same salt it is not."""
    fleet = Fleet()
    fleet.serve(words(100, 3), salt=9)
    fleet.serve(PROMPT, salt=first)
    assert fleet.serve(PROMPT[:3000] + words(1000, 4), "b", salt=second)["isolated"] == 750
    assert "isolated" not in fleet.serve(words(4000, 8), salt=second)


def test_an_earlier_turn_is_known_to_its_last_byte() -> None:
    """Blocks end somewhere; where the turn ended, at a message, is what the worker was confirmed to hold."""
    fleet = Fleet()
    for number in range(3):
        fleet.serve(PROMPT + MESSAGE + words(200, 10 + number), "ab"[number % 2])
    sight = fleet.dispatch(PROMPT + MESSAGE + words(200, 10) + MESSAGE + words(600, 20))
    assert sight.places.confirmed == len(PROMPT) + 1 + 200
    assert fleet.dispatch(PROMPT + MESSAGE + words(200, 11) + MESSAGE).places.lost == len(PROMPT) + 1 + 200


def test_what_was_not_finished_at_dispatch_is_new() -> None:
    """Two of one batch both compute their prompt."""
    fleet = Fleet()
    one, other = fleet.dispatch(PROMPT), fleet.dispatch(PROMPT)
    assert fleet.end(one, 0).uncached == fleet.end(other, 0).uncached == {"page": 1, "new": 999}


def test_a_request_that_was_not_computed_teaches_nothing() -> None:
    """An error before the first token, without a report."""
    fleet = Fleet()
    fleet.end(fleet.dispatch(PROMPT), None, computed=False)
    assert fleet.serve(PROMPT) == {"page": 1, "new": 999}


def test_a_divergent_prompt_says_from_what_it_parts() -> None:
    """With the bytes in common and those that come again."""
    fleet = Fleet()
    fleet.serve(b"It is 09:14:07. " + PROMPT)
    explained = fleet.end(fleet.dispatch(b"It is 09:15:29. " + PROMPT), 0)
    assert explained.uncached == {"page": 1, "divergent": 1000, "new": 3}
    assert explained.nearest == b"It is 09:14:07. " + PROMPT
    assert (explained.parted, explained.recurring) == (10, len(PROMPT) + 2)


def test_searches_in_vain_become_rare_and_a_new_fault_is_found() -> None:
    """After some prompts with nothing to find, a clock is noticed within 32."""
    fleet = Fleet()
    for number in range(40):
        fleet.serve(b"It is %06d. " % number + words(3000, 100 + number))
    found = [fleet.serve(b"It is %06d. " % number + PROMPT).get("divergent", 0) for number in range(80)]
    assert not all(found[:32])
    assert all(found[-40:])


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 8), st.sampled_from("abc"), st.integers(0, 2)), max_size=40))
def test_sums_are_exact_and_memory_is_bounded(requests: list[tuple[int, str, int]]) -> None:
    """Whatever comes, with room for a few prompts only."""
    fleet = Fleet(capacity=40, capacity_bytes=9_000)
    for number, worker, salt in requests:
        text = PROMPT[: number * 300] + words(number * 100, number)
        cached = number * 37
        uncached = fleet.serve(text, worker, cached, salt=salt, held=number % 3, fleet=number % 5)
        tokens = len(text) // 4
        assert sum(uncached.values()) == (tokens - cached if cached <= tokens else tokens)
        assert len(fleet.knowledge._known) <= 40
        assert fleet.knowledge._known.text_bytes <= 9_000


def test_workers_come_and_go() -> None:
    """The 257th takes the bit of the first, and not what that one held."""
    fleet = Fleet()
    fleet.serve(PROMPT, "first")
    for number in range(256):
        fleet.dispatch(b"", f"w{number}")
    assert fleet.dispatch(PROMPT, "w255").places.confirmed == 0
    assert fleet.dispatch(PROMPT, "first").places.confirmed == 0
