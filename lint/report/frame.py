"""The text around a finding: read again from the file, one line of it, the place marked below."""

import re
from pathlib import Path
from typing import Any, Final, NamedTuple

from lint.rule import Finding, visible
from lint.traffic.reading import Tally, requests
from prefix.conversations import only_text
from prefix.divergence import value_at

_FURTHEST: Final = 10_000
"""A request behind this line of a log is not looked up again."""
_LARGEST: Final = 4 << 20
"""Nor is a line of a larger source file."""
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_EXPRESSION: Final = re.compile(r"[\w.]+(?:\([^()\n]*\)|\[[^\[\]\n]*\])*|\{[^{}\n]*\}|\"[^\"\n]*\"|'[^'\n]*'|\S")


class Frame(NamedTuple):
    """before, marked, behind: one line of text, printable. row: its number in the file, or in the text."""

    row: int
    before: str
    marked: str
    behind: str


def frame(finding: Finding, room: int = 100) -> Frame | None:
    """What to show of a finding; None when it is no text, or cannot be read again. room: characters for the line."""
    path = Path(finding.filename)
    if not path.is_file() or (finding.location is None and finding.pointer is None):
        return None
    if finding.pointer is not None:
        text = _text_at(finding)
        start = finding.start
        return _around(text, start, finding.end or start, room) if text and start is not None else None
    if finding.location is None or finding.request is not None or path.stat().st_size > _LARGEST:
        return None
    return _in_source(finding, path.read_bytes().decode("utf-8", "replace").removeprefix("\ufeff"), room)


def _in_source(finding: Finding, text: str, room: int) -> Frame | None:
    assert finding.location is not None
    lines = [0, *(match.end() for match in _LINE_END.finditer(text))]
    if finding.start is not None:
        return _around(text, finding.start, finding.end or finding.start, room)
    if finding.location.row > len(lines):
        return None
    start = lines[finding.location.row - 1] + finding.location.column - 1
    expression = _EXPRESSION.match(text, start)
    return _around(text, start, expression.end() if expression else start, room)


def _text_at(finding: Finding) -> str | None:
    row = finding.location.row if finding.location else None
    if row is not None and row > _FURTHEST:
        return None
    with Path(finding.filename).open("rb") as file:
        for number, (_, body) in enumerate(requests(finding.filename, file, Tally())):
            if finding.request in (None, number):
                return _text(value_at(body, finding.pointer or ""))
    return None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else only_text(value)


def _around(text: str, start: int, end: int, room: int) -> Frame | None:
    """The line with the place in it, cut on both sides to what there is room for."""
    if start > len(text):
        return None
    line_end = _LINE_END.search(text, start)
    last = line_end.start() if line_end else len(text)
    begin = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    row = len(_LINE_END.findall(text, 0, begin)) + 1
    end = max(start, min(end, last + 1, start + room // 2))
    spare = max(10, room - (end - start))
    first = begin if last - begin <= room else max(begin, start - spare // 2)
    stop = min(last, max(end, first + room))
    before = ("…" if first > begin else "") + visible(text[first:start])
    behind = visible(text[end:stop]) + ("…" if stop < last else "")
    return Frame(row, before.expandtabs(4), visible(text[start:end]), behind)
