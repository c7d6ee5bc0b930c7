"""gateway.prompt_excerpt: what is shown of two prompts is short, true, and safe to print."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.prompt_excerpt import Piece, excerpts, visible
from prefix.causes import find_cause
from prefix.divergence import first_divergence
from tests.cases import case
from tests.prefix.test_divergence import BODIES


def shown(a: Any, b: Any) -> tuple[list[Piece], list[Piece]]:
    """The excerpts of two bodies that part."""
    where = first_divergence(a, b)
    cause = find_cause(a, b, where)
    assert cause is not None
    return excerpts(a, b, where, cause)


def lines(pieces: list[Piece]) -> list[str]:
    """The text of pieces, the difference in brackets."""
    return "".join(f"[{piece.text}]" if piece.differs else piece.text for piece in pieces).splitlines()


def system(text: str) -> dict[str, Any]:
    """A body whose system text this is."""
    return {"messages": [{"role": "system", "content": text}]}


SYSTEM, MORE = "system: Answer shortly.", "… 2 more"


@pytest.mark.parametrize(
    ("a", "b", "of_a", "of_b"),
    [
        (
            case(5)["input"]["A"],
            case(5)["input"]["B"],
            ["…branch main", " M src/a.py", "[]Recent commits:", "abc1234 fix tax rounding"],
            ["…branch main", " M src/a.py", "[ M src/b.py", "]Recent commits:", "abc1234 fix tax rounding"],
        ),
        (
            case(9)["input"]["A"],
            case(9)["input"]["B"],
            [SYSTEM, "[user: 2+2]", "assistant: 4", "user: cap of France", "assistant: Paris", "user: 5*3", MORE],
            [SYSTEM, "[user: 5*3]", "assistant: 15", "user: 2+2", "assistant: 4", "user: cap of France", MORE],
        ),
        (
            case(10)["input"]["A"],
            case(10)["input"]["B"],
            ["[files_read]", "git_log", "web_search"],
            ["[web_search]", "files_read", "git_log"],
        ),
        (
            case(14)["input"]["A"],
            case(14)["input"]["B"],
            ["[type, properties, required, additionalProperties]"],
            ["[required, additionalProperties, type, properties]"],
        ),
        (case(24)["input"]["turn2"], case(24)["input"]["turn3"], ["[because of X]"], ["(nothing)"]),
        (
            case(24)["input"]["turn2"],
            case(24)["input"]["turn3_kept"],
            ["…", "user: Q2", "(the end)"],
            ["…", "user: Q2", "[assistant: A2]", "user: Q3"],
        ),
        (case(30)["input"]["auto"], case(30)["input"]["named"], ["[all tools]"], ["[finish]"]),
        ({**system("x"), "cache_salt": "s"}, system("x"), ["[s]"], ["(not set)"]),
        ({"prompt": 1}, {"prompt": [2]}, ["[1]"], ["[[2]]"]),
        ({"prompt": "Once"}, {"prompt": "Once upon"}, ["Once[]"], ["Once[ upon]"]),
        (system("a\r\n" + "b" * 40), system("a \n" + "b" * 40), [r"a[\r\n]" + "b" * 40], [r"a[␣\n]" + "b" * 40]),
        (system("é" + "b" * 40), system("e\u0301" + "b" * 40), [rf"[\xe9{'b' * 40}]"], [rf"[e\u0301{'b' * 40}]"]),
        (system("\x1b[2J\ud800 a"), system("\x1b[2J\ud800 b"), [r"\x1b[2J\ud800 [a]"], [r"\x1b[2J\ud800 [b]"]),
    ],
)  # fmt: skip
def test_what_is_shown(a: Any, b: Any, of_a: list[str], of_b: list[str]) -> None:
    """Words for texts, names for lists, nothing a terminal would act on."""
    assert [lines(pieces) for pieces in shown(a, b)] == [of_a, of_b]


@given(BODIES, BODIES)
def test_an_excerpt_is_short_and_printable(a: dict[str, Any], b: dict[str, Any]) -> None:
    """Whatever the bodies are; and it marks one difference at most in each."""
    where = first_divergence(a, b)
    if where is None:
        return
    for pieces in shown(a, b):
        text = "".join(piece.text for piece in pieces)
        assert len(text) < 2000
        assert all(char == "\n" or char.isprintable() for char in text)
        assert sum(piece.differs for piece in pieces) <= 1


@given(st.text())
def test_visible_text_can_be_printed_anywhere(text: str) -> None:
    """Line ends stay, printable text is itself."""
    seen = visible(text)
    assert all(char == "\n" or char.isprintable() for char in seen)
    assert seen.count("\n") == text.count("\n")
    assert not text.isprintable() or seen == text


def test_a_long_difference_is_cut() -> None:
    """With a sign that it goes on; so is what stands around it."""
    long = "word " * 100_000
    for pieces in shown(system(f"{long}A{long}"), system(f"{long}{'B' * 9000}{long}")):
        text = "".join(piece.text for piece in pieces)
        assert len(text) < 500
        assert text.startswith("…")
        assert text.endswith("…")
