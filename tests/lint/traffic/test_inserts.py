"""lint.traffic.inserts: notes that move from turn to turn."""

from typing import Any

import pytest

from lint.examples import message
from lint.traffic.inserts import goes_on_behind, grew, moved_insert

NOTE = "Remember to be brief and kind."
HEAD = [message("system", "Be kind."), message("user", "One?"), message("assistant", "1")]


def two(older: list[Any], newer: list[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"messages": [*HEAD, *older]}, {"messages": [*HEAD, *newer]}


@pytest.mark.parametrize("role", ["system", "user"])
def test_a_message_that_moves(role: str) -> None:
    """Before the newest question, or behind it."""
    note = message(role, NOTE)
    said = [message("user", "Two?"), message("assistant", "2 it is.")]
    for older, newer in (
        ([note, said[0]], [*said, note, message("user", "Three?")]),
        ([said[0], note], [*said, message("user", "Three?"), note]),
    ):
        found = moved_insert(*two(older, newer))
        assert found is not None
        assert (found.text, found.lost > 20) == (NOTE, True)


@pytest.mark.parametrize("newest", ["{note}\n{question}", "{question}\n\n{note}"])
def test_a_part_of_the_newest_message(newest: str) -> None:
    """Its beginning or its end, which is not there any more in the next turn."""
    older = [message("user", newest.format(note=NOTE, question="Two?"))]
    newer = [
        message("user", "Two?"),
        message("assistant", "2"),
        message("user", newest.format(note=NOTE, question="Three?")),
    ]
    found = moved_insert(*two(older, newer))
    assert found is not None
    assert (found.pointer, found.text.strip()) == ("/messages/3", NOTE)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ([message("user", "Two?")], [message("user", "Two?"), message("assistant", "2"), message("user", "Three?")]),
        ([message("user", f"{NOTE} Two?")], [message("user", f"{NOTE} Three?")]),
        ([message("user", f"{NOTE} Two?")], [message("user", f"{NOTE} Three?"), *HEAD[1:]]),
        ([message("user", NOTE)], [message("user", "Two?"), message("assistant", "2")]),
        ([message("user", "Two? x")], [message("user", "Two?"), message("assistant", "2"), message("user", "x")]),
        (["odd"], [message("user", "Two?"), message("assistant", "2"), 7]),
    ],
)
def test_what_is_none(older: list[Any], newer: list[Any]) -> None:
    """Conversations that go on, single turns of one template, notes that are gone for good, odd shapes."""
    assert moved_insert(*two(older, newer)) is None


def test_bodies_without_turns() -> None:
    """Have no notes."""
    assert moved_insert({"prompt": "x"}, {"prompt": "y"}) is None
    assert not grew({"messages": [1]}, {"messages": [2]})


def test_goes_on_behind() -> None:
    """The messages behind the one that differs are the same, and there are some."""
    a, b = two([message("user", "x")], [message("user", "x"), message("assistant", "y")])
    assert goes_on_behind(a, b, "/messages/1/content/0/image_url/url")
    assert not goes_on_behind(a, b, "/messages/3/content")
    assert not goes_on_behind(a, b, "/tools")
    assert not goes_on_behind(a, b, "/prompt/x")
