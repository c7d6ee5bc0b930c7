"""The test behind the verdict."""

from itertools import product
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.quality.paired import Score, compare, holm, worse_by_chance


@given(st.lists(st.integers(-3, 3), max_size=9))
def test_it_is_the_share_of_all_signs(differences: list[int]) -> None:
    """Counted out one by one, the probability is the same."""
    sizes = [abs(each) for each in differences if each]
    sums = [
        sum(s * size for s, size in zip(signs, sizes, strict=True)) for signs in product((-1, 1), repeat=len(sizes))
    ]
    assert worse_by_chance(differences) == pytest.approx(sum(x <= sum(differences) for x in sums) / len(sums))


@given(st.integers(0, 40), st.integers(0, 40))
def test_with_one_sample_it_is_mcnemars(lost: int, won: int) -> None:
    """Single answers: the binomial tail of the tasks that changed (McNemar 1947, exact)."""
    n = lost + won
    tail = sum(comb(n, k) for k in range(won + 1)) / 2**n
    assert worse_by_chance([-1] * lost + [1] * won + [0] * 7) == pytest.approx(tail)


@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1), min_size=1, max_size=8))
def test_holm_never_lowers_and_keeps_the_order(p_values: dict[str, float]) -> None:
    """Corrected p-values are at least the raw ones, at most n times the smallest, and in the same order."""
    made = holm(p_values)
    assert all(p_values[kind] <= made[kind] <= 1 for kind in p_values)
    ordered = sorted(p_values, key=p_values.__getitem__)
    assert [made[kind] for kind in ordered] == sorted(made.values())
    assert made[ordered[0]] == pytest.approx(min(1.0, len(p_values) * p_values[ordered[0]]))


def test_a_regression_is_above_the_margin_and_no_chance() -> None:
    """Both are needed."""
    many = [Score(str(n), 3, 2 if n < 12 else 3, 3) for n in range(60)]
    few = [Score(str(n), 3, 0 if n < 2 else 3, 3) for n in range(60)]
    assert [row.regressed for row in compare({"a": many, "b": few}, margin=0.01)] == [True, False]
    assert [row.regressed for row in compare({"a": many, "b": few}, margin=0.1)] == [False, False]
    row = compare({"a": many}, margin=0.01)[0]
    assert (row.tasks, row.answers, row.before, row.lost, row.won) == (60, 180, 1.0, 12, 0)
    assert row.after == pytest.approx(168 / 180)
