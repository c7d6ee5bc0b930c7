"""Python source: shuffled tools are sorted by name instead, where the module shows what a tool looks like."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from lint.fixes.tree import Tree
from lint.rule import Edit, Fix

_KEYS: Final = {("function", "name"): '["function"]["name"]', ("name",): '["name"]'}
_COPIES: Final = frozenset({"list", "copy", "deepcopy"})


def sort_tools(tree: Tree, row: int, column: int) -> Iterator[Fix]:
    """`random.shuffle(tools)` becomes `tools.sort(...)`: any order was possible before."""
    for node in tree.at(row, column):
        if isinstance(node, ast.Call) and isinstance(tree.parent(node), ast.Expr) and len(node.args) == 1:
            given, span = node.args[0], tree.span(node)
            path = _name_in(tree, given) if isinstance(given, ast.Name) and not node.keywords else None
            if span is not None and path is not None:
                key = f"lambda tool: tool{_KEYS[path]}"
                yield Fix("safe", (Edit(*span, f"{tree.segment(given)}.sort(key={key})"),))


def _name_in(tree: Tree, name: ast.Name, hops: int = 3) -> tuple[str, ...] | None:
    """Where in each tool of a list its name is; None when the module does not show that of all of them."""
    given = [node for node in tree.nodes if isinstance(node, ast.Name) and node.id == name.id]
    written = [node for node in given if isinstance(node.ctx, ast.Store)]
    statement = tree.parent(written[0]) if len(written) == 1 else None
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or not hops:
        return None
    value = statement.value
    if isinstance(value, ast.Call) and len(value.args) == 1 and isinstance(value.args[0], ast.Name):
        callee = getattr(value.func, "id", getattr(value.func, "attr", ""))
        return _name_in(tree, value.args[0], hops - 1) if callee in _COPIES else None
    if not isinstance(value, ast.List) or not value.elts:
        return None
    paths = {_path(item) for item in value.elts}
    return paths.pop() if len(paths) == 1 else None


def _path(tool: ast.expr) -> tuple[str, ...] | None:
    return next((path for path in _KEYS if _has(tool, path)), None)


def _has(node: ast.expr, path: tuple[str, ...]) -> bool:
    if not path:
        return isinstance(node, ast.Constant) and isinstance(node.value, str)
    if not isinstance(node, ast.Dict):
        return False
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant) and key.value == path[0]:
            return _has(value, path[1:])
    return False
