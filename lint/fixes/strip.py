"""Python source: the signature of a URL cut off. Unsafe: whoever fetches it needs access of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from lint.fixes.tree import Tree
from lint.rule import Edit, Fix


def strip_signature(tree: Tree, row: int, column: int) -> Iterator[Fix]:
    """`url` becomes what stands before its `?`."""
    for node in tree.at(row, column):
        span = tree.span(node) if isinstance(node, ast.Call) else None
        if span is not None:
            yield Fix("unsafe", (Edit(span[1], span[1], '.partition("?")[0]'),))
