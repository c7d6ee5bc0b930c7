"""The text around a finding: read again from the file, one line of it, the place marked below."""

from pathlib import Path
from typing import Any, Final, NamedTuple

from lint.rule import Finding, visible
from lint.traffic.reading import Tally, requests
from prefix.conversations import only_text
from prefix.divergence import value_at

_NEAR: Final = 50
_FURTHEST: Final = 10_000
"""A request behind this line of a log is not looked up again."""


class Frame(NamedTuple):
    """before, marked, behind: one line of text, printable. row: its number in the file, or in the text."""

    row: int
    before: str
    marked: str
    behind: str


def frame(finding: Finding) -> Frame | None:
    """What to show of a finding; None when it is no text, or cannot be read again."""
    if not Path(finding.filename).is_file():
        return None
    if finding.pointer is not None:
        text = _text_at(finding)
        return (
            _around(text, finding.start, finding.end or finding.start) if text and finding.start is not None else None
        )
    if finding.location is None or finding.request is not None:
        return None
    text = Path(finding.filename).read_text(encoding="utf-8", errors="replace")
    start = finding.start
    if start is None:
        lines = text.splitlines(keepends=True)
        if finding.location.row > len(lines):
            return None
        start = sum(map(len, lines[: finding.location.row - 1])) + finding.location.column - 1
    return _around(text, start, finding.end or start)


def _text_at(finding: Finding) -> str | None:
    row = finding.location.row if finding.location else None
    if row is not None and row > _FURTHEST:
        return None
    with Path(finding.filename).open("rb") as file:
        for number, (_, body, _) in enumerate(requests(finding.filename, file, Tally())):
            if finding.request in (None, number):
                return _text(value_at(body, finding.pointer or ""))
    return None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else only_text(value)


def _around(text: str, start: int, end: int) -> Frame | None:
    if start > len(text):
        return None
    first = max(text.rfind("\n", 0, start) + 1, start - _NEAR)
    stop = text.find("\n", start)
    last = len(text) if stop < 0 else stop
    end = max(start, min(end, last + 1))
    behind = text[end : min(last, end + _NEAR)]
    more = "…" if end + _NEAR < last else ""
    cut = "…" if first and text[first - 1] != "\n" else ""
    marked = visible(text[start:end][: 2 * _NEAR])
    return Frame(text.count("\n", 0, start) + 1, cut + visible(text[first:start]), marked, visible(behind) + more)
