"""Every uncached token gets exactly one reason, the first that applies."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry.attribution import REASONS, Places, attribute
from tests.cases import case

SIZE = 4000
places = st.integers(-10, SIZE + 10)
ranges = st.lists(st.tuples(places, places), max_size=4).map(tuple)
known = st.builds(
    Places,
    size=st.integers(0, SIZE),
    confirmed=places,
    held=places,
    elsewhere=places,
    lost=places,
    isolated=places,
    recurring=ranges,
    parted=places,
)
counts = st.integers(0, 1500)
pages = st.sampled_from((1, 16, 64, 784))
ORDER = ("confirmed", "held", "elsewhere", "lost", "isolated")


@given(counts, st.none() | st.integers(-3, 1600), known, pages)
def test_the_sum_is_exact(prompt: int, cached: int | None, where: Places, page: int) -> None:
    """Whatever was known and reported: no count is negative, and they add up to the uncached tokens."""
    found = attribute(prompt, cached, where, page_tokens=page)
    assert all(count > 0 for count in found.values())
    possible = cached is not None and 0 <= cached <= prompt
    assert sum(found.values()) == prompt - (cached if possible and cached is not None else 0)
    assert ("unknown" in found) == (not possible and prompt > 0)
    assert set(found) <= set(REASONS)


@given(counts, counts, known, pages, st.sampled_from(ORDER), st.integers(0, SIZE))
def test_more_knowledge_never_makes_more_new(
    prompt: int, cached: int, where: Places, page: int, name: str, to: int
) -> None:
    """Moving any place further into the prompt explains as many tokens or more, and more of its own reason."""
    more = where._replace(**{name: max(to, getattr(where, name))})
    before, after = (attribute(prompt, cached, each, page_tokens=page) for each in (where, more))
    assert after.get("new", 0) <= before.get("new", 0)
    own = {"confirmed": "evicted", "held": "stale", "elsewhere": "routed_away", "lost": "evicted"}.get(name, name)
    assert after.get(own, 0) >= before.get(own, 0)


@given(st.integers(2, 200), known)
def test_the_reasons_take_their_turns(prompt: int, where: Places) -> None:
    """With nothing cached and pages of one token, each reason counts what a walk over the tokens finds."""
    found = attribute(prompt, 0, where)
    walked: dict[str, int] = {}
    names = ("evicted", "stale", "routed_away", "evicted", "isolated")
    edges = [min(prompt, max(0, getattr(where, each)) * prompt // where.size) if where.size else 0 for each in ORDER]
    runs = [
        tuple(max(0, min(prompt, at * prompt // where.size)) for at in run) for run in where.recurring if where.size
    ]
    for token in range(prompt):
        behind = any(low <= token < high for low, high in runs)
        reasons = [name for name, edge in zip(names, edges, strict=True) if token < edge]
        last = token == prompt - 1
        reason = "page" if last else reasons[0] if reasons else "divergent" if behind else "new"
        walked[reason] = walked.get(reason, 0) + 1
    assert found == walked


def test_an_exact_repeat_loses_to_rounding_alone() -> None:
    """Case 33: what an engine does not report of an exact repeat is all `page`, however it knows the prompt."""
    given_case: Any = case(33)
    repeats = given_case["input"]["repeat_of_prompt_tokens_and_page"]
    for repeat, cached in zip(repeats, given_case["expected"]["cached_tokens"], strict=True):
        prompt, page = repeat["prompt_tokens"], repeat["page"]
        for where in (Places(999, confirmed=999), Places(999, held=999), Places(999, confirmed=512, parted=999)):
            assert attribute(prompt, cached, where, page_tokens=page) == {"page": prompt - cached}


@pytest.mark.parametrize(
    ("prompt", "cached", "where", "page", "expected"),
    [
        (0, 0, Places(0), 1, {}),
        (0, None, Places(0), 1, {}),
        (100, 100, Places(400), 1, {}),
        (100, 101, Places(400), 1, {"unknown": 100}),
        (100, -1, Places(400), 1, {"unknown": 100}),
        (100, None, Places(400, held=400), 1, {"unknown": 100}),
        (1, 0, Places(4), 1, {"page": 1}),
        (100, 0, Places(0), 1, {"page": 1, "new": 99}),
        (100, 0, Places(400, confirmed=200, held=300), 1, {"page": 1, "stale": 25, "evicted": 50, "new": 24}),
        (100, 60, Places(400, confirmed=200, held=300), 1, {"page": 1, "stale": 15, "new": 24}),
        (100, 90, Places(400, confirmed=200, held=300), 1, {"page": 1, "new": 9}),
        (100, 32, Places(400, elsewhere=400), 16, {"page": 4, "routed_away": 64}),
        (100, 32, Places(400, elsewhere=240), 16, {"page": 13, "routed_away": 16, "new": 39}),
        (100, 48, Places(400, confirmed=128, parted=240), 16, {"page": 13, "new": 39}),
        (100, 48, Places(400, confirmed=128, parted=400), 16, {"page": 16, "new": 36}),
        (100, 0, Places(400, recurring=((100, 200), (150, 300))), 1, {"page": 1, "divergent": 50, "new": 49}),
        (100, 0, Places(400, isolated=200, recurring=((100, 400),)), 1, {"page": 1, "isolated": 50, "divergent": 49}),
    ],
)
def test_hard_edges(prompt: int, cached: int | None, where: Places, page: int, expected: dict[str, int]) -> None:
    """Empty prompts, reports that cannot be, one token, rounding in the middle of a prompt, overlapping ranges."""
    assert attribute(prompt, cached, where, page_tokens=page) == expected


@given(st.integers(1, 10_000), st.integers(1, SIZE), st.lists(st.integers(0, SIZE), min_size=2, max_size=9))
def test_rounding_keeps_the_order_of_places(prompt: int, size: int, marks: list[int]) -> None:
    """A place further back never counts fewer tokens, and none counts more than the prompt has."""
    evicted = [attribute(prompt, 0, Places(size, confirmed=mark)).get("evicted", 0) for mark in sorted(marks)]
    assert all(one <= other for one, other in pairwise(evicted))
    assert evicted[-1] <= prompt - 1
