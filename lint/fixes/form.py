"""Python source: JSON that is spelled one way or another gets the form of the other branch. Safe: the value is the
same, and either form was possible before."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from lint.fixes.tree import Tree
from lint.rule import Edit, Fix


def one_form(tree: Tree, row: int, column: int) -> Iterator[Fix]:
    """`indent=2 if pretty else None` becomes `indent=None`; a form that someone else gives is not ours to choose."""
    for node in tree.at(row, column):
        if not isinstance(node, ast.IfExp) or not isinstance(tree.parent(node), ast.keyword):
            continue
        spans = tree.span(node), tree.span(node.orelse)
        if _fixed(node.body) and _fixed(node.orelse) and spans[0] and spans[1]:
            yield Fix("safe", (Edit(*spans[0], tree.text[slice(*spans[1])]),))


def _fixed(node: ast.expr) -> bool:
    return not any(isinstance(inner, ast.Name | ast.Call | ast.Attribute) for inner in ast.walk(node))
