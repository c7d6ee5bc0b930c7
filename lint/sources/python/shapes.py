"""What an expression says by its shape alone: a slice that cuts the front, sets joined, a list rewritten in part."""

from __future__ import annotations

import ast

from lint.sources.python.values import Value, volatile


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
    return any(same) and not all(same)
