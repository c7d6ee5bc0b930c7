"""Python source: an order made fixed, by `sort_keys=True` and by `sorted()`. Safe: any order was possible before."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from lint.fixes.tree import Tree, assigned_to
from lint.rule import Edit, Fix

_CLOSERS: Final = re.compile(r"(?:[\s)]|#[^\n]*)*(?P<comma>,)?")
_KEYS: Final = {"scandir": "lambda entry: entry.name"}
"""What to sort by where items have no order of their own."""
_UNSORTABLE: Final = frozenset({"as_completed", "walk"})
"""Sorting would wait for everything, or sort what is edited while it is walked."""
_WALKERS: Final = frozenset({"list", "tuple", "enumerate", "iter", "reversed"})


def sort_keys(tree: Tree, row: int, column: int) -> Iterator[Fix]:
    """`json.dumps(x)` with sorted keys."""
    calls = [node for node in tree.at(row, column) if isinstance(node, ast.Call)]
    call = calls[-1] if calls else None
    if call is None or any(keyword.arg is None for keyword in call.keywords):
        return
    given = next((keyword.value for keyword in call.keywords if keyword.arg == "sort_keys"), None)
    if isinstance(given, ast.Constant) and (span := tree.span(given)):
        yield Fix("safe", (Edit(*span, "True"),))
    elif given is None and (edit := _with_argument(tree, call, "sort_keys=True")):
        yield Fix("safe", (edit,))


def _with_argument(tree: Tree, call: ast.Call, argument: str) -> Edit | None:
    """The edit that gives a call one more argument at the end."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    spans = [tree.span(node) for node in (call, *given)]
    whole = spans[0]
    if whole is None or not given or isinstance(given[0], ast.GeneratorExp):
        return None
    last = max((span[1] for span in spans[1:] if span), default=None)
    between = _CLOSERS.match(tree.text, last, whole[1] - 1) if last is not None else None
    if last is None or between is None:
        return None
    if between["comma"]:
        return Edit(between.end(), between.end(), f" {argument},")
    closed = last + len(tree.text[last : whole[1] - 1].partition("#")[0].rstrip())
    return Edit(closed, closed, f", {argument}")


def sort_iteration(tree: Tree, row: int, column: int) -> Iterator[Fix]:
    """`sorted()` around a set or a folder's files, where it is walked over: directly, or by the one name it has."""
    if tree.shadows("sorted"):
        return
    for node in tree.at(row, column):
        callee = node.func if isinstance(node, ast.Call) else None
        name = getattr(callee, "attr", getattr(callee, "id", ""))
        if name in _UNSORTABLE:
            continue
        if _is_walked(tree, node):
            walked: list[ast.expr] = [node]
        else:
            target = assigned_to(tree, node)
            walked = [use for use in tree.uses(target) if _is_walked(tree, use)] if target else []
        if edits := tuple(edit for use in walked for edit in _wrapped(tree, use, _KEYS.get(name))):
            yield Fix("safe", edits)


def _wrapped(tree: Tree, node: ast.expr, key: str | None) -> tuple[Edit, ...]:
    span = tree.span(node)
    if span is None:
        return ()
    end = ")" if key is None else f", key={key})"
    return Edit(span[0], span[0], "sorted("), Edit(span[1], span[1], end)


def _is_walked(tree: Tree, node: ast.expr) -> bool:
    """Whether a node stands where each of its items is taken in turn."""
    parent = tree.parent(node)
    if isinstance(parent, ast.For | ast.AsyncFor | ast.comprehension):
        return parent.iter is node and not isinstance(parent, ast.AsyncFor)
    if isinstance(parent, ast.Starred):
        return not isinstance(tree.parent(parent), ast.Set)
    if isinstance(parent, ast.Call) and parent.args[:1] == [node]:
        callee = parent.func
        return getattr(callee, "attr", "") == "join" or getattr(callee, "id", "") in _WALKERS
    return False
