"""Templates and prompt files: the line of a value that changes is moved behind the static text. Unsafe."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from lint.fixes.edits import moved
from lint.rule import Fix

if TYPE_CHECKING:
    import yaml
    from jinja2 import nodes

_LINE: Final = re.compile(r"[^\n]*(?:\n|\Z)")


def to_the_end(text: str, row: int, first: int, behind: int) -> Fix | None:
    """The move of a line behind another one, when it is before it. Rows from 1; first: of the text it is in."""
    lines = [match.span() for match in _LINE.finditer(text)]
    if not first <= row < behind <= len(lines):
        return None
    start, end = lines[row - 1]
    to = lines[behind - 1][1]
    line = text[start:end].rstrip("\r\n")
    ending = "\r\n" if text[start:end].endswith("\r\n") else "\n"
    whole = text[:to].endswith("\n")
    return Fix("unsafe", moved(start, end, to, line + ending if whole else ending + line))


def in_template(text: str, tree: nodes.Template, row: int) -> Iterator[Fix]:
    """The line to the end of the template, when it holds nothing but text and whole `{{ }}` outside all blocks.

    A template that writes a conversation has an order of its own.
    """
    from jinja2 import nodes

    written = [part for output in tree.body if isinstance(output, nodes.Output) for part in output.nodes]
    top = any(part.lineno == row and not isinstance(part, nodes.TemplateData) for part in written)
    lines = text.split("\n")
    line = lines[row - 1] if row <= len(lines) else ""
    if not top or "{%" in line or "{#" in line or line.count("{{") != line.count("}}"):
        return
    last = max((at for at, other in enumerate(lines, 1) if other.strip()), default=0)
    fix = to_the_end(text, row, 1, last)
    if fix is not None and all(name.name != "messages" for name in tree.find_all(nodes.Name)):
        yield fix


def in_block(text: str, row: int) -> Iterator[Fix]:
    """The line to the end of the literal block (`|`) it stands in, in YAML."""
    for node in _scalars(text):
        first, behind = node.start_mark.line + 2, node.end_mark.line
        if node.style == "|" and first <= row <= behind:
            lines = text.split("\n")
            while behind > row and not lines[behind - 1].strip():
                behind -= 1
            fix = to_the_end(text, row, first, behind)
            if fix is not None:
                yield fix


def _scalars(text: str) -> Iterator[yaml.ScalarToken]:
    import yaml

    for token in yaml.scan(text, yaml.SafeLoader):
        if isinstance(token, yaml.ScalarToken):
            yield token
