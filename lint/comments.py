"""The comments of a source file, in its own language, and which rows each one stands for.

Text that only looks like a comment (a `#` in a string or in the block of a YAML prompt) is none. A comment behind a
string of many lines stands for all of them.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import Final, NamedTuple

_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_PYTHON: Final = re.compile(
    r"""\#[^\r\n]*
    | (?P<quotes>"{3}|'{3}) (?:[^\\"']++|\\.|(?!(?P=quotes)).)*+ (?:(?P=quotes)|\Z)
    | "(?:[^"\\\r\n]++|\\(?:\r\n|.))*+" | '(?:[^'\\\r\n]++|\\(?:\r\n|.))*+'""",
    re.DOTALL | re.VERBOSE,
)
"""The comments and strings of a module: nothing else in it has quotes or a `#`. Behind three quotes that nobody
closes all is string. (An f-string that nests its own quotes, since Python 3.12, is taken for several.)"""
_JINJA: Final = re.compile(r"\{#.*?#\}", re.DOTALL)
_YAML: Final = re.compile(r"(?:(?<=\s)|^)#[^\r\n]*", re.MULTILINE)


class Comment(NamedTuple):
    """start, end: in the text. row: it begins in. first, last: the rows it stands for. inside: it can end before its
    line does."""

    start: int
    end: int
    row: int
    first: int
    last: int
    inside: bool = False


def comments(filename: str, text: str) -> list[Comment]:
    """The comments of a file; none when its kind has none."""
    find = _LANGUAGES.get(PurePath(filename).suffix.lower())
    return list(find(text)) if find else []


def style_of(filename: str) -> tuple[str, str] | None:
    """How a comment of this kind of file begins and ends, None when it can have none."""
    find = _LANGUAGES.get(PurePath(filename).suffix.lower())
    return None if find is None else ("{# ", " #}") if find is _jinja else ("# ", "")


def starts(text: str) -> list[int]:
    """Where each line of a text begins, as Python's parser and YAML's count them."""
    return [0, *(match.end() for match in _LINE_END.finditer(text))]


def comment_place(filename: str, text: str, row: int) -> int:
    """Where a comment is written that stands for a row: behind its line, or the line its string ends in; in YAML
    behind the line a block begins with; in Jinja ahead of the line, where it leaves no blank and no line end."""
    suffix = PurePath(filename).suffix.lower()
    lines = starts(text)
    if _LANGUAGES.get(suffix) is _jinja:
        return lines[row - 1]
    if _LANGUAGES.get(suffix) is _yaml:
        block = next((s for s in _scalars(text) if s.first < row <= s.last and s.block), None)
        flow = next((s for s in _scalars(text) if s.first <= row < s.last and not s.block), None)
        row = block.first if block else flow.last if flow else row
    else:
        row = next((last for last, first in _strings(text).items() if first <= row < last), row)
    end = lines[row] if row < len(lines) else len(text)
    return lines[row - 1] + len(text[lines[row - 1] : end].rstrip())


def _python(text: str) -> Iterator[Comment]:
    lines = starts(text)
    strings = _strings(text)
    for found in _PYTHON.finditer(text):
        if text[found.start()] == "#":
            row = bisect_right(lines, found.start())
            yield Comment(*found.span(), row, strings.get(row, row), row)


def _strings(text: str) -> dict[int, int]:
    """Of strings of many lines: the row they end in, and the one they begin in."""
    lines = starts(text)
    strings: dict[int, int] = {}
    for found in _PYTHON.finditer(text):
        row, last = bisect_right(lines, found.start()), bisect_right(lines, found.end() - 1)
        if row < last:
            strings.setdefault(last, row)
    return strings


def _jinja(text: str) -> Iterator[Comment]:
    lines = starts(text)
    for match in _JINJA.finditer(text):
        row = bisect_right(lines, match.start())
        yield Comment(match.start(), match.end(), row, row, bisect_right(lines, match.end() - 1), inside=True)


class _Scalar(NamedTuple):
    """A text in YAML: from where to where (of a block, from behind its `|` line), and in which rows."""

    start: int
    end: int
    first: int
    last: int
    block: bool


def _yaml(text: str) -> Iterator[Comment]:
    lines = starts(text)
    scalars = _scalars(text)
    beginnings = [scalar.start for scalar in scalars]
    widest_last = sorted(scalars, key=lambda scalar: scalar.last - scalar.first)
    beside = {scalar.first if scalar.block else scalar.last: scalar for scalar in widest_last}
    for match in _YAML.finditer(text):
        before = bisect_right(beginnings, match.start())
        if before and match.start() < scalars[before - 1].end:
            continue
        row = bisect_right(lines, match.start())
        scalar = beside.get(row)
        first, last = (min(row, scalar.first), max(row, scalar.last)) if scalar else (row, row)
        yield Comment(match.start(), match.end(), row, first, last)


def _scalars(text: str) -> list[_Scalar]:
    import yaml

    lines = starts(text)
    found: list[_Scalar] = []
    try:
        for token in yaml.scan(text, yaml.SafeLoader):
            if isinstance(token, yaml.ScalarToken):
                start, end = token.start_mark, token.end_mark
                block = token.style in ("|", ">") and start.line + 1 < len(lines)
                last = end.line if block and end.column == 0 else end.line + 1
                begin = lines[start.line + 1] if block else start.index
                found.append(_Scalar(begin, end.index, start.line + 1, max(start.line + 1, last), block))
    except (yaml.YAMLError, RecursionError):
        return found
    return found


_LANGUAGES: Final[dict[str, Callable[[str], Iterator[Comment]]]] = {
    **dict.fromkeys((".py", ".pyi"), _python),
    **dict.fromkeys((".j2", ".jinja", ".jinja2"), _jinja),
    **dict.fromkeys((".yaml", ".yml"), _yaml),
}
