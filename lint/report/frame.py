"""The text around a finding: read again from the file, one line of it, the place marked below."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
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


def frames(findings: Sequence[Finding], room: int = 100) -> Iterator[Frame | None]:
    """What to show of each finding; None when it is no text, or cannot be read again. room: characters for the line.

    Each file is read once, however many findings it has: they come sorted by file.
    """
    for filename, group in groupby(findings, lambda finding: finding.filename):
        found = list(group)
        path = Path(filename)
        if not path.is_file():
            yield from (None for _ in found)
            continue
        wanted = {finding.request or 0 for finding in found if finding.pointer is not None}
        bodies = _bodies(path, wanted) if wanted else {}
        source = any(f.pointer is None and f.location and f.request is None for f in found)
        text = _content(path) if source and path.stat().st_size <= _LARGEST else ""
        lines = [0, *(match.end() for match in _LINE_END.finditer(text))]
        for finding in found:
            yield _frame(finding, bodies, text, lines, room)


def _frame(finding: Finding, bodies: Mapping[int, Any], text: str, lines: list[int], room: int) -> Frame | None:
    if finding.pointer is not None:
        said = _text(value_at(bodies.get(finding.request or 0), finding.pointer))
        start = finding.start
        return _around(said, start, finding.end or start, room) if said and start is not None else None
    if finding.location is None or finding.request is not None or not text:
        return None
    return _in_source(finding, text, lines, room)


def _content(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace").removeprefix("\ufeff")
    except OSError:
        return ""


def _bodies(path: Path, wanted: set[int]) -> dict[int, Any]:
    """The requests with these indices, as far as they are not too far into the log."""
    found: dict[int, Any] = {}
    last = max(wanted)
    try:
        with path.open("rb") as file:
            for number, (row, body) in enumerate(requests(str(path), file, Tally())):
                if number > last or row > _FURTHEST:
                    break
                if number in wanted:
                    found[number] = body
    except OSError:
        return {}
    return found


def _in_source(finding: Finding, text: str, lines: list[int], room: int) -> Frame | None:
    assert finding.location is not None
    if finding.start is not None:
        return _around(text, finding.start, finding.end or finding.start, room)
    if finding.location.row > len(lines):
        return None
    start = lines[finding.location.row - 1] + finding.location.column - 1
    expression = _EXPRESSION.match(text, start)
    return _around(text, start, expression.end() if expression else start, room)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else only_text(value)


def _around(text: str, start: int, end: int, room: int) -> Frame | None:
    """The line with the place in it, cut on both sides to what there is room for."""
    if start > len(text):
        return None
    line_end = _LINE_END.search(text, start)
    last = line_end.start() if line_end else len(text)
    begin = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    row = text.count("\n", 0, begin) + text.count("\r", 0, begin) - text.count("\r\n", 0, begin) + 1
    end = max(start, min(end, last + 1, start + room // 2))
    spare = max(10, room - (end - start))
    first = begin if last - begin <= room else max(begin, start - spare // 2)
    stop = min(last, max(end, first + room))
    before = ("…" if first > begin else "") + visible(text[first:start])
    behind = visible(text[end:stop]) + ("…" if stop < last else "")
    return Frame(row, before.expandtabs(4), visible(text[start:end]), behind)
