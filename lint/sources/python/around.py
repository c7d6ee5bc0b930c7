"""A module less what has nothing to do with some of its lines, so that to try an edit is not to read all of it again.

Top-level statements that name one another, or a third, stay together; the others become blanks, so that every place
keeps its row, its column and its offset.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import Final

from lint.fixes.tree import Lines, parsed

_WORD: Final = re.compile(r"[^\W\d]\w*")
_BUILT_IN: Final = frozenset(dir(builtins))
_CHARACTER: Final = re.compile(r"[^\r\n]")


def blanked(text: str, rows: Collection[int]) -> str:
    """The text with blanks for all statements that those in these rows do not hang together with."""
    lines = Lines(text)
    statements = [statement for statement in parsed(text).body if not _is_plain(statement)]
    spans = [_rows(statement) for statement in statements]
    if any(first[1] >= second[0] for first, second in pairwise(spans)):
        return text
    cuts = [(lines.offset(start, 0), lines.offset(end + 1, 0)) for start, end in spans]
    groups = _together([(set(_given(s)), text[slice(*cut)]) for s, cut in zip(statements, cuts, strict=True)])
    kept = {groups[at] for at, (start, end) in enumerate(spans) if any(start <= row <= end for row in rows)}
    out, last = [], 0
    for group, (start, end) in zip(groups, cuts, strict=True):
        if group not in kept:
            out += [text[last:start], _CHARACTER.sub(" ", text[start:end])]
            last = end
    return "".join((*out, text[last:]))


def _rows(statement: ast.stmt) -> tuple[int, int]:
    """The first row, with decorators, and the last."""
    decorators = getattr(statement, "decorator_list", ())
    return min((node.lineno for node in decorators), default=statement.lineno), statement.end_lineno or 0


def _is_plain(statement: ast.stmt) -> bool:
    """Whether a statement stays: it says nothing of others (an import, a constant), or something of all of them: it
    gives a built-in name another meaning."""
    if isinstance(statement, ast.Import | ast.ImportFrom) or not _BUILT_IN.isdisjoint(_given(statement)):
        return True
    return isinstance(statement, ast.Expr | ast.Assign) and isinstance(statement.value, ast.Constant)


def _given(statement: ast.stmt) -> Iterator[str]:
    """The names by which the rest of the module may call or read what a statement makes."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
        own = statement.body if isinstance(statement, ast.ClassDef) else ()
        methods = (inner.name for inner in own if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef))
        yield from (name for name in methods if not name.startswith("__"))
    else:
        stored = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
        yield from (node.id for node in stored if isinstance(node.ctx, ast.Store))


def _together(given: list[tuple[set[str], str]]) -> list[int]:
    """For each statement, of which its names and its text are given, one that it hangs together with, the same for
    all of them: one names what the other makes."""
    group = list(range(len(given)))

    def first(at: int) -> int:
        while group[at] != at:
            at = group[at]
        return at

    owners: dict[str, int] = {}
    for at, (own, _) in enumerate(given):
        for name in own:
            group[first(at)] = first(owners.setdefault(name, at))
    for at, (_, text) in enumerate(given):
        for name in owners.keys() & _WORD.findall(text):
            group[first(at)] = first(owners[name])
    return [first(at) for at in range(len(given))]
