"""What an expression says by its shape alone: a slice that cuts the front, sets joined, a list rewritten in part."""

from __future__ import annotations

import ast
import builtins
import re

from lint.sources.python.values import STATIC, Text, Value, volatile


def cuts_front(bounds: ast.Slice) -> bool:
    """Whether a slice keeps a last stretch, other than the very last item."""
    lower = bounds.lower
    if bounds.upper is not None or lower is None:
        return False
    if isinstance(lower, ast.UnaryOp) and isinstance(lower.op, ast.USub):
        return not (isinstance(lower.operand, ast.Constant) and lower.operand.value == 1)
    return any(
        isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name) and inner.func.id == "len"
        for inner in ast.walk(lower)
    )


def anywhere(bounds: ast.Slice) -> bool:
    """Whether a slice begins at a place that only the run knows: a turn taken back, as likely as old ones cut."""
    return isinstance(bounds.lower, ast.Name | ast.Attribute)


def measures(test: ast.expr) -> bool:
    """Whether a condition asks how long something is, by its length or a count."""
    names = (getattr(n, "id", "") or getattr(n, "attr", "") for n in ast.walk(test))
    return any(isinstance(n, ast.Compare) for n in ast.walk(test)) and any(_MEASURE.search(name) for name in names)


_MEASURE = re.compile(r"^len$|count|size|token|length|total|limit|max|num|budget|window", re.IGNORECASE)
_SHRINKS = re.compile(r"compact|truncat|summar|short|prun|trim|clear|elide|redact|evict|strip_old", re.IGNORECASE)
_ASKS = frozenset("isinstance hasattr getattr len type get startswith endswith strip".split())
_ENVELOPE = frozenset({"role", "cache_control", "name", "id", "type"})


def by_age(node: ast.For | ast.AsyncFor) -> bool:
    """Whether a loop over messages tells old from new ones: it leaves the end out, or compares a place or a count."""
    walked = node.iter.args[0] if isinstance(node.iter, ast.Call) and node.iter.args else node.iter
    if isinstance(walked, ast.Subscript) and isinstance(walked.slice, ast.Slice) and walked.slice.upper is not None:
        return True
    places = {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)} if _numbered(node) else set()
    return any(
        isinstance(inner, ast.Compare) and any(isinstance(n, ast.Name) and n.id in places for n in ast.walk(inner))
        for statement in node.body
        if places
        for inner in ast.walk(statement)
    )


def fills_gaps(node: ast.For | ast.AsyncFor) -> bool:
    """Whether a loop only looks for messages without text, to give them one."""
    tests = [inner.test for statement in node.body for inner in ast.walk(statement) if isinstance(inner, ast.If)]
    return bool(tests) and all(map(_is_gap, tests))


def _is_gap(test: ast.expr) -> bool:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(map(_is_gap, test.values))
    return isinstance(test, ast.Compare) and any(
        isinstance(n, ast.Constant) and n.value in ("", None)
        for op, n in zip(test.ops, test.comparators, strict=True)
        if isinstance(op, ast.Eq | ast.Is)
    )


def numbered(node: ast.For | ast.AsyncFor) -> ast.Name | None:
    """The variable that has the number of the round: of `range(...)`, the first of `enumerate(...)`."""
    target = node.target
    if not _numbered(node):
        return None
    if getattr(getattr(node.iter, "func", None), "id", "") == "enumerate":
        target = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else ast.Tuple([])
    return target if isinstance(target, ast.Name) else None


def _numbered(node: ast.For | ast.AsyncFor) -> bool:
    return isinstance(node.iter, ast.Call) and getattr(node.iter.func, "id", "") in ("enumerate", "range")


def shrinks(target: ast.Subscript | ast.Attribute, node: ast.AST, value: Value) -> bool:
    """Whether an assignment to a message replaces its text by fixed or shorter text."""
    key = target.attr if isinstance(target, ast.Attribute) else getattr(target.slice, "value", "")
    if key in _ENVELOPE:
        return False
    names = (getattr(n, "attr", "") or getattr(n, "id", "") for n in ast.walk(node))
    sliced = any(isinstance(n, ast.Slice) and n.upper is not None for n in ast.walk(node))
    fixed = isinstance(value, Text) and all(part.kind == STATIC for part in value.parts)
    return sliced or fixed or any(_SHRINKS.search(n) for n in names)


def is_envelope(target: ast.Subscript | ast.Attribute) -> bool:
    """Whether an assignment to a message leaves its text alone."""
    return (target.attr if isinstance(target, ast.Attribute) else getattr(target.slice, "value", "")) in _ENVELOPE


def from_end(index: ast.expr) -> bool:
    """Whether a place in a list is counted from its end: `-1`, `len(items) - 1`."""
    if isinstance(index, ast.BinOp):
        return isinstance(index.op, ast.Sub) and isinstance(index.left, ast.Call)
    return isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub)


def is_set(node: ast.BinOp, sides: tuple[Value, Value]) -> bool:
    """Whether an operator joins sets: one side is a view of keys, or already without order."""
    views = any(
        isinstance(side, ast.Call) and isinstance(side.func, ast.Attribute) and side.func.attr == "keys"
        for side in (node.left, node.right)
    )
    return views or any(part.kind == "unordered" for side in sides for part in volatile(side))


def rewrites(node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> bool:
    """Whether some of the walked items stay and others do not: `[short(m) if old(m) else m for m in messages]`."""
    target = node.generators[0].target
    if not isinstance(target, ast.Name):
        return False
    walked = node.generators[0].iter
    head = (
        isinstance(walked, ast.Subscript)
        and isinstance(walked.slice, ast.Slice)
        and walked.slice.lower is None
        and isinstance(walked.slice.upper, ast.UnaryOp)
    )
    if head and not isinstance(node.elt, ast.Name):
        return True
    if not isinstance(node.elt, ast.IfExp):
        return False
    branches = (node.elt.body, node.elt.orelse)
    same = [isinstance(branch, ast.Name) and branch.id == target.id for branch in branches]
    if any(same) == all(same):
        return False
    return not _asks_only(node.elt.test, target.id) or any(map(_cuts, branches))


def _asks_only(test: ast.expr, name: str) -> bool:
    """Whether a condition says the same of an item in each request: it asks for its kind and fields, not its age."""
    calls = [n.func for n in ast.walk(test) if isinstance(n, ast.Call)]
    own = all(
        func.id in _ASKS if isinstance(func, ast.Name) else isinstance(func, ast.Attribute) and func.attr in _ASKS
        for func in calls
    )
    others = {n.id for n in ast.walk(test) if isinstance(n, ast.Name)} - {name, *_ASKS}
    return own and all(hasattr(builtins, other) or other[:1].isupper() for other in others)


def _cuts(branch: ast.expr) -> bool:
    """Whether what becomes of an item is shorter than it, by a slice, by fixed text, or by what is called."""
    inside = list(ast.walk(branch))
    sliced = any(isinstance(n, ast.Slice) and n.upper is not None for n in inside)
    fixed = any(isinstance(n, ast.Dict) and any(isinstance(v, ast.Constant) for v in n.values) for n in inside)
    called = (getattr(n, "attr", "") or getattr(n, "id", "") for n in inside)
    return sliced or fixed or any(_SHRINKS.search(name) for name in called)
