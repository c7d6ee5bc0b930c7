"""prefix.realign: the common prefix, and what comes again behind it."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefix.realign import WINDOW, Run, common_prefix, realign


def words(count: int, seed: int) -> str:
    """Text in which no stretch of WINDOW characters occurs twice."""
    rng = random.Random(seed)
    return " ".join(f"{rng.getrandbits(32):08x}" for _ in range(count))


@given(st.text("ab", max_size=300), st.text("ab", max_size=300), st.integers(0, 200))
def test_the_common_prefix_is_the_longest(a: str, b: str, shared: int) -> None:
    """All before it is equal, and what follows is not, for texts and for bytes."""
    a, b = "ab" * (shared // 2) + a, "ab" * (shared // 2) + b
    length = common_prefix(a, b)
    assert a[:length] == b[:length]
    assert length == min(len(a), len(b)) or a[length] != b[length]
    assert common_prefix(a.encode(), b.encode()) == length


@given(st.binary(max_size=40), st.binary(max_size=40), st.integers(0, 9), st.integers(0, 9))
def test_the_common_prefix_from_two_places(a: bytes, b: bytes, start_a: int, start_b: int) -> None:
    """Starts are the caller's."""
    start_a, start_b = min(start_a, len(a)), min(start_b, len(b))
    assert common_prefix(a, b, start_a, start_b) == common_prefix(a[start_a:], b[start_b:])


@given(st.text("ab", max_size=400), st.text("ab", max_size=400))
def test_runs_are_true_disjoint_and_behind_the_divergence(a: str, b: str) -> None:
    """Each run stands in both texts, is WINDOW long at least, and none counts a character of b twice."""
    start = common_prefix(a, b)
    at = start
    for run in realign(a, b, start):
        assert a[run.a : run.a + run.length] == b[run.b : run.b + run.length]
        assert run.length >= WINDOW
        assert run.a >= start
        assert run.b >= at
        at = run.b + run.length
    assert at <= len(b)


@pytest.mark.parametrize(
    ("one", "other"), [("09:14:07", "09:14:09"), ("9:14", "10:14:22"), ("", "now "), ("then", "")]
)
def test_text_behind_a_clock_comes_again(one: str, other: str) -> None:
    """All of it, whatever the lengths of the values, in one run."""
    rest = words(200, seed=1)
    a, b = f"Now: {one} {rest}", f"Now: {other} {rest}"
    (run,) = realign(a, b, common_prefix(a, b))
    assert run.length >= len(rest)
    assert b.endswith(b[run.b : run.b + run.length])


@pytest.mark.parametrize("order", [(2, 0, 1), (1, 0, 2), (2, 1, 0)])
def test_parts_in_another_order_come_again(order: tuple[int, ...]) -> None:
    """A run counts wherever it stands."""
    parts = [words(40, seed) for seed in range(3)]
    a, b = "|".join(parts), "|".join(parts[place] for place in order)
    assert sum(run.length for run in realign(a, b, common_prefix(a, b))) >= len(b) - len(parts)


def test_every_gap_is_left_out() -> None:
    """Three differences, three runs, and exactly the differing text is missing."""
    a = "x".join(words(50, seed) for seed in range(4))
    b = "y".join(words(50, seed) for seed in range(4))
    start = common_prefix(a, b)
    assert [run.b - start for run in realign(a, b, start)] == [
        1 + place * (len(words(50, 0)) + 1) for place in range(3)
    ]


@pytest.mark.parametrize(("a", "b"), [("", ""), ("", "b" * 500), ("a" * 500, ""), (words(99, 1), words(99, 2))])
def test_what_shares_nothing_has_no_runs(a: str, b: str) -> None:
    """Nothing is recoverable there."""
    assert realign(a, b, 0) == []


def test_text_before_the_divergence_does_not_count() -> None:
    """It is cached already: repeating it behind the divergence recovers nothing."""
    shared = words(50, seed=1)
    assert realign(shared + "a", shared + "b" + shared, len(shared)) == []


def test_repetitive_text_costs_no_more_than_its_length() -> None:
    """Long runs of few characters are taken in one piece: a quadratic search would not end here."""
    a, b = "-" * 300_000 + "x" * 300_000, "+" + "x" * 300_000 + "-" * 300_000
    assert realign(a, b, 0) == [Run(300_000, 1, 300_000), Run(0, 300_001, 300_000)]
