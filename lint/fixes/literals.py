"""String literals as they are written: prefix, quotes, runs of text, and the holes of f-strings.

`ast` says too little about the inside of an f-string (before Python 3.12, wrongly), and an edit has to keep the
author's spelling. So the literal is scanned by itself. https://docs.python.org/3/reference/lexical_analysis.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_OPENING: Final = re.compile(r"(?P<prefix>[A-Za-z]{0,2})(?P<quote>\"\"\"|'''|\"|')")
_BETWEEN: Final = re.compile(r"(?:\s|\\\r?\n|#[^\n]*)*")
_PAIRS: Final = {"(": ")", "[": "]", "{": "}"}


class Run(NamedTuple):
    """A stretch of a literal's inside. hole: an expression with its braces, not text."""

    start: int
    end: int
    hole: bool


class Literal(NamedTuple):
    """One string token. start, end: of its inside. runs: what the inside is made of, in order."""

    prefix: str
    quote: str
    start: int
    end: int
    runs: tuple[Run, ...]

    @property
    def newline(self) -> str | None:
        """How a line end is written inside; None where it cannot be."""
        if len(self.quote) == 3:
            return "\n"
        return None if "r" in self.prefix.lower() else "\\n"


def literals(text: str, start: int, end: int) -> tuple[Literal, ...] | None:
    """The string tokens that an expression consists of; None when it is made of anything else."""
    found: list[Literal] = []
    at = start
    while at < end:
        opening = _OPENING.match(text, at, end)
        if opening is None or "b" in opening["prefix"].lower():
            return None
        inside = _inside(text, opening, end)
        if inside is None:
            return None
        found.append(inside)
        at = _skipped(text, inside.end + len(inside.quote), end)
    return tuple(found)


def _skipped(text: str, at: int, end: int) -> int:
    between = _BETWEEN.match(text, at, end)
    return between.end() if between else at


def _inside(text: str, opening: re.Match[str], end: int) -> Literal | None:
    prefix, quote = opening["prefix"], opening["quote"]
    formatted = "f" in prefix.lower()
    runs: list[Run] = []
    begin = at = opening.end()
    while at < end:
        if text.startswith(quote, at):
            runs += [Run(begin, at, False)] * (begin < at)
            return Literal(prefix, quote, opening.end(), at, tuple(runs))
        if text[at] == "\\":
            at += 2
        elif formatted and text[at] == "{" and text[at + 1 : at + 2] != "{":
            close = _hole_end(text, at + 1, end)
            if close is None:
                return None
            runs += [*[Run(begin, at, False)] * (begin < at), Run(at, close, True)]
            begin = at = close
        else:
            at += 2 if formatted and text[at : at + 2] in ("{{", "}}") else 1
    return None


def _hole_end(text: str, at: int, end: int) -> int | None:
    """Behind the brace that closes a hole."""
    open_pairs: list[str] = ["}"]
    in_spec = False
    while at < end:
        char = text[at]
        if open_pairs and char == open_pairs[-1]:
            open_pairs.pop()
            if not open_pairs:
                return at + 1
        elif char in _PAIRS and (not in_spec or char == "{"):
            open_pairs.append(_PAIRS[char])
        elif char in "'\"" and not in_spec:
            at = _string_end(text, at, end)
            continue
        elif char == ":" and len(open_pairs) == 1 and text[at + 1 : at + 2] != "=":
            in_spec = True
        at += 1
    return None


def _string_end(text: str, at: int, end: int) -> int:
    opening = _OPENING.match(text, at, end)
    assert opening is not None
    inside = _inside(text, opening, end)
    return inside.end + len(inside.quote) if inside else end


def holes(found: tuple[Literal, ...]) -> Iterator[tuple[Literal, int]]:
    """Each hole, in order: its literal and its place among that one's runs."""
    for literal in found:
        for at, run in enumerate(literal.runs):
            if run.hole:
                yield literal, at
