"""A parsed Python module with what an edit needs: where each node is in the text, and what it stands in.

Rows and columns of `ast` count bytes; here everything is in code points, as in findings.
"""

from __future__ import annotations

import ast
import functools
import re
import warnings
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_SCOPES: Final = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.Module | ast.ClassDef
"""What has names of its own. (A comprehension too, but its names are read only inside it.)"""


_GIVING: Final = frozenset((ast.Name, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.alias, ast.arg))
_NO_NODES: Final = frozenset({int, str, float, complex, bytes, bool, type(None), type(...)}).union(
    *(kind.__subclasses__() for kind in (ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop))
)

_PLAIN_FIELDS: Final = frozenset(
    "id attr arg asname module level ctx op ops kind conversion type_comment is_async simple".split()
)
NODE_FIELDS: Final[dict[type[ast.AST], tuple[str, ...]]] = {
    kind: tuple(name for name in kind._fields if name not in _PLAIN_FIELDS and not issubclass(kind, ast.Constant))
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}
"""Of each kind of node the fields that may hold others."""


class Lines:
    """The lines of a text, as Python's parser counts them."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]

    def column(self, row: int, byte_column: int) -> int:
        """The column, from 1 and in code points, of a byte offset in a line."""
        line = self._line(row)
        if line.isascii():
            return byte_column + 1
        return len(line.encode("utf-8", "surrogatepass")[:byte_column].decode("utf-8", "ignore")) + 1

    def byte(self, row: int, column: int) -> int:
        """The byte offset in a line of a column, from 1 and in code points."""
        return len(self._line(row)[: column - 1].encode("utf-8", "surrogatepass"))

    def offset(self, row: int, byte_column: int) -> int:
        """Code points before a place; behind the last line, all of them."""
        if row > len(self._starts):
            return len(self._text)
        return self._starts[row - 1] + self.column(row, byte_column) - 1

    def _line(self, row: int) -> str:
        if row > len(self._starts):
            return ""
        end = self._starts[row] if row < len(self._starts) else len(self._text)
        return self._text[self._starts[row - 1] : end]


class Tree:
    """The nodes of a module."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = Lines(text)
        self.root = parsed(text)
        self._parents: dict[ast.AST, ast.AST] = {}
        self._at: dict[tuple[int, int], list[ast.expr]] = defaultdict(list)  # by row and byte
        self.nodes: list[ast.AST] = [self.root]
        for parent in self.nodes:
            children = _children(parent)
            self.nodes += children
            for child in children:
                self._parents[child] = parent
                if isinstance(child, ast.expr):
                    self._at[child.lineno, child.col_offset].append(child)
        self._given = frozenset(name for node in self.nodes if type(node) in _GIVING and (name := _name_given(node)))

    def at(self, row: int, column: int) -> list[ast.expr]:
        """The expressions that begin at a place, the outermost first."""
        return self._at.get((row, self._lines.byte(row, column)), [])

    def parent(self, node: ast.AST) -> ast.AST | None:
        """What a node stands in."""
        return self._parents.get(node)

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """All that a node stands in, from the inside."""
        while (parent := self._parents.get(node)) is not None:
            yield parent
            node = parent

    def span(self, node: ast.expr) -> tuple[int, int] | None:
        """Where a node begins and ends in the text; None where Python's parser does not know (inside f-strings)."""
        if node.end_lineno is None or node.end_col_offset is None:
            return None
        start = self._lines.offset(node.lineno, node.col_offset)
        end = self._lines.offset(node.end_lineno, node.end_col_offset)
        if any(isinstance(parent, ast.JoinedStr) for parent in self.above(node)) and not self._is(node, start, end):
            return None
        return start, end

    def _is(self, node: ast.expr, start: int, end: int) -> bool:
        try:
            return ast.dump(ast.parse(self.text[start:end].strip(), mode="eval").body) == ast.dump(node)
        except (SyntaxError, ValueError):
            return False

    def segment(self, node: ast.expr) -> str:
        """The text of a node that has a span."""
        span = self.span(node)
        return self.text[slice(*span)] if span else ""

    def shadows(self, name: str) -> bool:
        """Whether the module gives a built-in name another meaning."""
        return name in self._given

    def uses(self, target: ast.Name) -> list[ast.Name]:
        """Where the value given to a name is read, when it is given one only once; else nothing."""
        scope = next(parent for parent in self.above(target) if isinstance(parent, _SCOPES))
        same = [node for node in ast.walk(scope) if isinstance(node, ast.Name) and node.id == target.id]
        written = [node for node in same if not isinstance(node.ctx, ast.Load)]
        return [node for node in same if isinstance(node.ctx, ast.Load)] if written == [target] else []


def _children(node: ast.AST) -> list[Any]:
    """As ast.iter_child_nodes, but for operators and contexts, which are the same objects in all of a module."""
    fields = NODE_FIELDS[type(node)]
    if not fields:
        return []
    found: list[Any] = []
    for name in fields:
        value = getattr(node, name)
        if type(value) is list:
            found += value
        elif value is not None:
            found.append(value)
    return [child for child in found if type(child) not in _NO_NODES]


def _name_given(node: ast.AST) -> str | None:
    """The name that a node gives a meaning to."""
    if isinstance(node, ast.Name):
        return None if isinstance(node.ctx, ast.Load) else node.id
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.name
    if isinstance(node, ast.alias):
        return node.asname or node.name
    return node.arg if isinstance(node, ast.arg) else None


@functools.lru_cache(maxsize=2)
def parsed(text: str) -> ast.Module:
    """The syntax tree of a text, nobody's to change: of a file it is asked for by the data flow and by fixes, in
    between for an edit that is tried. Raises what ast.parse raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        return ast.parse(text)


@functools.lru_cache(maxsize=1)
def tree_of(text: str) -> Tree:
    """The tree of a text; of several findings in one file only the first has to parse it."""
    return Tree(text)


def assigned_to(tree: Tree, node: ast.expr) -> ast.Name | None:
    """The name that an expression is given, when it is given to one and nothing else."""
    statement = tree.parent(node)
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target: ast.expr = statement.targets[0]
    elif isinstance(statement, ast.AnnAssign):
        target = statement.target
    else:
        return None
    return target if isinstance(target, ast.Name) else None
