"""gateway.prompt_report: two prompts in a terminal of any width, with colour and without."""

import io
from typing import Any

import pytest
from hypothesis import given
from rich.console import Console

from gateway.prompt_canon import canonical_prompt
from gateway.prompt_report import print_canonical, print_comparison
from prefix.comparison import compare
from prefix.tokens import RatioCounter
from tests.cases import case, wire
from tests.prefix.test_divergence import BODIES, CASES


def printed(a: Any, b: Any, width: int, *, colour: bool = False) -> list[str]:
    """The lines that are printed, without blanks at their ends."""
    file = io.StringIO()
    system = "truecolor" if colour else None
    console = Console(file=file, width=width, force_terminal=colour, color_system=system, highlight=False)
    print_comparison(("old.json", "new.json"), (a, b), compare(a, b, RatioCounter()), console)
    return [line.rstrip() for line in file.getvalue().splitlines()]


@pytest.mark.parametrize("width", [20, 40, 64, 80, 200])
@pytest.mark.parametrize(("number", "a", "b", "expected"), CASES)
def test_every_case_fits_every_width(number: int, a: str, b: str, expected: str, width: int) -> None:
    """No line is wider, and none is lost: place, bar, costs and advice are there."""
    given_input = case(number)["input"]
    lines = printed(given_input[a], given_input[b], width)
    assert max(map(len, lines)) <= min(width, 100)
    text = "".join(lines).replace(" ", "")
    assert "tokensshared" in text
    assert "recoverable" in text
    assert "→" in text


def test_side_by_side_or_below_each_other() -> None:
    """As the width allows."""
    given_input = case(10)["input"]
    assert any("files_read⟧" in line and "⟦web_search⟧" in line for line in printed(*_ab(given_input), 80))
    narrow = printed(*_ab(given_input), 50)
    assert narrow.index("⟦files_read⟧") < narrow.index("B  new.json") < narrow.index("⟦web_search⟧")


def _ab(given_input: Any) -> tuple[Any, Any]:
    return given_input["A"], given_input["B"]


@pytest.mark.parametrize(("number", "a", "b", "expected"), CASES)
def test_the_bar_is_drawn_to_scale(number: int, a: str, b: str, expected: str) -> None:
    """Its parts are the tokens' shares, to one cell and a half, and what there is at all is seen."""
    given_input = case(number)["input"]
    found = compare(given_input[a], given_input[b], RatioCounter())
    bar = next(line for line in printed(given_input[a], given_input[b], 80) if set(line) <= set("█▓░") and line)
    assert len(bar) == 64
    for glyph, share in (("█", found.shared_tokens), ("▓", found.recoverable_tokens)):
        assert abs(bar.count(glyph) - 64 * share / found.tokens) <= 1.5
        assert (bar.count(glyph) > 0) == (share > 0)


def test_colour_needs_no_brackets() -> None:
    """But where there is nothing to colour."""
    coloured = printed(*_ab(case(5)["input"]), 80, colour=True)
    assert sum("⟦" in line for line in coloured) == sum("⟦⟧" in line for line in coloured) == 1


def test_names_cannot_act_on_the_terminal() -> None:
    """A file may be called anything."""
    file = io.StringIO()
    body = case(1)["input"]["A"]
    other = case(1)["input"]["B"]
    console = Console(file=file, width=80, highlight=False)
    print_comparison(("\x1b[2J", "[bold]b"), (body, other), compare(body, other, RatioCounter()), console)
    assert "\x1b" not in file.getvalue()
    assert "B  [bold]b" in file.getvalue()


@given(BODIES, BODIES)
def test_any_two_bodies_can_be_printed(a: dict[str, Any], b: dict[str, Any]) -> None:
    """In UTF-8."""
    assert "\n".join(printed(a, b, 70)).encode()


def test_the_summary_of_a_canonical_body() -> None:
    """Every change, both parts, the version; and that there was no change where there was none."""
    file = io.StringIO()
    console = Console(file=file, width=80, highlight=False)
    for key in "BA":
        print_canonical(canonical_prompt(wire(case(10)["input"][key]), "safe", None), console)
    lines = [" ".join(line.split()) for line in file.getvalue().splitlines()]
    assert lines[:3] == [
        "tool order /tools",
        "stable prefix 429 bytes, about 107 tokens, up to /messages/1",
        "suffix 2 bytes, about 1 token",
    ]
    assert lines[4] == "nothing rewritten"
    assert lines[3] == lines[7]
    file.truncate(0)
    print_canonical(canonical_prompt(b"{}", "safe", None), console)
    assert "none: no tools and no system text" in file.getvalue()
