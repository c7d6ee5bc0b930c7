"""Python source: a value that changes is moved behind the static text. Unsafe: the words come in another order.

Only where the text is built in one expression: inside an f-string the sentence or line around the value goes to the
end, in a sum of strings the operands with the value do. A value or a text that has a name is followed to the one
place where that name is read. Every spelling stays the author's.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from lint.fixes.edits import permuted
from lint.fixes.literals import Literal, holes, literals
from lint.fixes.tree import Tree, assigned_to
from lint.rule import Edit, Fix

_MOST_STEPS: Final = 8
_BREAK: Final = re.compile(r"(?:\\n|\r?\n|(?<=[.!?]) |(?<=[.!?])(?=\{))")
"""Ends a line or a sentence, as it is written in a literal."""
_TAIL: Final = re.compile(r"(?:\\n|\s)+\Z")
_ATOMS: Final = ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.Constant | ast.JoinedStr
_PUNCTUATION: Final = re.compile(r"[\s.,;:!?)\]-]*")


def move_behind(tree: Tree, row: int, column: int) -> Iterator[Fix]:
    """Candidates that put the expression at this place further back, the nearest first."""
    for node in tree.at(row, column):
        hole: ast.expr | None = node
        for _ in range(_MOST_STEPS):
            if hole is None:
                break
            text, candidates = _reordered(tree, hole)
            yield from (Fix("unsafe", edits) for edits in candidates if edits)
            target = assigned_to(tree, text)
            uses = tree.uses(target) if target else []
            hole = text if text is not hole else uses[0] if len(uses) == 1 else None


def _reordered(tree: Tree, node: ast.expr) -> tuple[ast.expr, tuple[tuple[Edit, ...], ...]]:
    """The text that a node is directly a part of (the node itself when it is of none), and ways to reorder it."""
    parent = tree.parent(node)
    if isinstance(parent, ast.FormattedValue):
        whole = tree.parent(parent)
        if isinstance(whole, ast.JoinedStr):
            return whole, _from_f_string(tree, whole, parent)
    whole_sum = _sum_of(tree, node)
    if whole_sum is not None:
        return whole_sum, (_in_sum(tree, whole_sum, node),)
    if isinstance(parent, ast.Call | ast.Attribute) and not _is_argument(parent, node):
        return parent, ()
    return node, ()


def _sum_of(tree: Tree, node: ast.expr) -> ast.BinOp | None:
    """The whole sum that a node is an operand of."""
    found: ast.BinOp | None = None
    for above in tree.above(node):
        if not (isinstance(above, ast.BinOp) and isinstance(above.op, ast.Add)):
            break
        found = above
    return found


def _is_argument(parent: ast.Call | ast.Attribute, node: ast.expr) -> bool:
    return isinstance(parent, ast.Call) and parent.func is not node and not _keeps(parent, node)


def _keeps(call: ast.Call, node: ast.expr) -> bool:
    """Whether a call returns the text of this argument: `str(now)`."""
    return isinstance(call.func, ast.Name) and call.func.id in ("str", "repr", "format") and call.args[:1] == [node]


def _from_f_string(tree: Tree, whole: ast.JoinedStr, value: ast.FormattedValue) -> tuple[tuple[Edit, ...], ...]:
    """A sentence to the end of its f-string, or to the end of the sum that this is an operand of."""
    span = tree.span(whole)
    found = literals(tree.text, *span) if span else None
    index = [part for part in whole.values if isinstance(part, ast.FormattedValue)].index(value)
    placed = list(holes(found)) if found else []
    if not found or index >= len(placed):
        return ()
    literal, at = placed[index]
    start, end = _sentence(tree.text, literal, at)
    inside = () if end == found[-1].end else _to_the_end(tree.text, literal, found[-1], start, end)
    return inside, _to_the_end_of_the_sum(tree, whole, literal, start, end)


def _to_the_end_of_the_sum(
    tree: Tree, node: ast.JoinedStr, literal: Literal, start: int, end: int
) -> tuple[Edit, ...]:
    """For a sentence that is not all of its literal; else the operand goes as it is."""
    whole = _sum_of(tree, node)
    span = tree.span(whole) if whole is not None else None
    all_of_it = (start, end) == (literal.start, literal.end)
    if whole is None or span is None or all_of_it or whole.right is node or literal.newline is None:
        return ()
    bare = _TAIL.sub("", tree.text[start:end])
    operand = f" + {literal.prefix}{literal.quote}{literal.newline}{bare}{literal.quote}"
    return Edit(start, end, ""), Edit(span[1], span[1], operand)


def _sentence(text: str, literal: Literal, at: int) -> tuple[int, int]:
    """Where the line or sentence around a hole begins and ends, within its literal."""
    start, end = literal.start, literal.end
    for run in literal.runs[:at]:
        if not run.hole:
            start = max([start, *(m.end() for m in _BREAK.finditer(text, run.start, run.end))])
    for run in reversed(literal.runs[at + 1 :]):
        if not run.hole and (found := _BREAK.search(text, run.start, literal.end)) and found.start() <= run.end:
            end = found.end()
    return start, end


def _to_the_end(text: str, literal: Literal, last: Literal, start: int, end: int) -> tuple[Edit, ...]:
    segment = text[start:end]
    tail = _TAIL.search(segment)
    bare = segment[: tail.start()] if tail else segment
    newline = literal.newline
    before = text[last.start : last.end]
    if newline is None:
        content = " " + bare
    elif before.endswith(newline) and not last.runs[-1].hole:
        content = bare + newline
    else:
        content = newline + bare
    if literal is not last and (literal.prefix, literal.quote) != (last.prefix, last.quote):
        quoted = f" {literal.prefix}{literal.quote}{content}{literal.quote}"
        close = last.end + len(last.quote)
        return Edit(start, end, ""), Edit(close, close, quoted)
    return Edit(start, end, ""), Edit(last.end, last.end, content)


def _in_sum(tree: Tree, whole: ast.BinOp, node: ast.expr) -> tuple[Edit, ...]:
    operands = _operands(whole)
    spans = [tree.span(operand) for operand in operands]
    slots = [span for span in spans if span is not None]
    if node not in operands or len(slots) < len(spans):
        return ()
    first = last = operands.index(node)
    while first and _is_label(operands[first - 1]):
        first -= 1
    while last + 1 < len(operands) and _is_punctuation(operands[last + 1]):
        last += 1
    if last + 1 == len(operands):
        return ()
    rest = [*operands[:first], *operands[last + 1 :]]
    contents = [_operand(tree, operand) for operand in (*rest, *operands[first : last + 1])]
    contents[len(rest)] = _on_a_new_line(tree, operands[first], contents[len(rest)])
    return permuted(tree.text, slots, contents)


def _operands(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*_operands(node.left), *_operands(node.right)]
    return [node]


def _operand(tree: Tree, node: ast.expr) -> str:
    segment = tree.segment(node)
    return segment if isinstance(node, _ATOMS) and "\n" not in segment else f"({segment})"


def _is_label(node: ast.expr) -> bool:
    """Text that leads up to what follows it: `"Time: "`."""
    text = node.value if isinstance(node, ast.Constant) else None
    return isinstance(text, str) and not re.search(r"\n|[.!?] ?\Z", text) and len(text) <= 80


def _is_punctuation(node: ast.expr) -> bool:
    text = node.value if isinstance(node, ast.Constant) else None
    return isinstance(text, str) and _PUNCTUATION.fullmatch(text) is not None


def _on_a_new_line(tree: Tree, node: ast.expr, segment: str) -> str:
    span = tree.span(node) if isinstance(node, ast.Constant | ast.JoinedStr) else None
    found = literals(tree.text, *span) if span else None
    if span and found and segment == tree.text[slice(*span)] and found[0].newline:
        inside = found[0].start - span[0]
        return segment[:inside] + found[0].newline + segment[inside:]
    return f'"\\n" + {segment}'
