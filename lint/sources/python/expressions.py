"""Evaluates expressions to values (what they would write), without ever running them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from lint.sources.python import calls, displays, formats
from lint.sources.python.binding import bind, dotted, instance, item_of, marks_of, member, part_at, path_of, written
from lint.sources.python.origins import PER_PROCESS, narrow
from lint.sources.python.scope import Scope, place
from lint.sources.python.shapes import cuts_front, is_set
from lint.sources.python.values import (
    DYNAMIC,
    EMPTY,
    ENVIRONMENT,
    FILE,
    UNKNOWN,
    Map,
    Part,
    Seq,
    Spread,
    Text,
    Value,
    concat,
    is_own,
    items_of,
    join,
    literal,
    mapped,
    marked,
    param,
    retag,
    volatile,
    without,
)


def evaluate(node: ast.expr, scope: Scope) -> Value:
    """What this expression would write."""
    scope.run.step()
    handler = _HANDLERS.get(type(node))
    return handler(node, scope) if handler else _other(node, scope)


def _other(node: ast.expr, scope: Scope) -> Value:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            evaluate(child, scope)
    return UNKNOWN


def _constant(node: ast.Constant, _scope: Scope) -> Value:
    return EMPTY if node.value is None else literal(node.value if isinstance(node.value, str) else str(node.value))


def _name(node: ast.Name, scope: Scope) -> Value:
    if node.id in scope.env:
        return _here(scope.env[node.id], node)
    if node.id in scope.run.globals:
        value = scope.run.globals[node.id]
        return value if scope.top else retag(value, PER_PROCESS)
    if node.id in scope.run.module.imports and node.id.isupper():
        return FILE
    if node.id in scope.closures or node.id in scope.run.module.functions or node.id in scope.run.module.classes:
        return instance(node.id)[1]
    return UNKNOWN


def _here(value: Value, node: ast.expr) -> Value:
    found = param(value)
    if found is None or isinstance(value, Spread):
        return value
    row, column = place(node)
    return Text((replace(found, row=row, column=column),))


def _attribute(node: ast.Attribute, scope: Scope) -> Value:
    known = scope.env.get(dotted(node))
    if known is not None:
        return known
    resolved = scope.resolve(node)
    if resolved == "os.environ":
        return Text((part_at(ENVIRONMENT, node),))
    if resolved and node.attr.isupper():
        return FILE
    return member(evaluate(node.value, scope), node.attr, node)


def _subscript(node: ast.Subscript, scope: Scope) -> Value:
    value = evaluate(node.value, scope)
    if isinstance(node.slice, ast.Slice):
        return value if _is_string(node.value, scope) else _slice(node, node.slice, value)
    if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        return member(value, node.slice.value, node)
    if isinstance(value, Seq) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int):
        if 0 <= node.slice.value < len(value.items) and not any(isinstance(item, Spread) for item in value.items):
            return value.items[node.slice.value]
        return UNKNOWN
    item = item_of(value)
    if item is not None:
        return Text(marks_of(value)) if marks_of(value) else item
    found = param(value)
    return member(value, "[]", node) if found else Text(volatile(value)) if volatile(value) else UNKNOWN


def _is_string(node: ast.expr, scope: Scope) -> bool:
    """Whether this is a parameter that its annotation says is a text: its end is no list's."""
    return isinstance(node, ast.Name) and node.id in scope.texts


def _slice(node: ast.Subscript, bounds: ast.Slice, value: Value) -> Value:
    known = isinstance(value, Seq) and not value.marks and all(isinstance(item, Map) for item in value.items)
    if cuts_front(bounds) and not _all_text(value) and not known:
        return marked(value if isinstance(value, Seq) else Seq((Spread(concat(value)),)), part_at("window", node))
    return value


def _all_text(value: Value) -> bool:
    return isinstance(value, Text) and any(part.text is not None for part in value.parts)


def _joined(node: ast.JoinedStr, scope: Scope) -> Value:
    return concat(*(evaluate(part, scope) for part in node.values))


def _formatted(node: ast.FormattedValue, scope: Scope) -> Value:
    value = written(evaluate(node.value, scope), node.value)
    spec = formats.constant_text(node.format_spec)
    return retag(value, narrow("", spec)) if spec else value


def _binary(node: ast.BinOp, scope: Scope) -> Value:
    if isinstance(node.op, ast.Add):
        return _sum(node, scope)
    left, right = evaluate(node.left, scope), evaluate(node.right, scope)
    if isinstance(node.op, ast.Mod):
        return formats.percent(left, right)
    if isinstance(node.op, ast.Mult):
        return formats.repeat(left, formats.integer(node.right))
    if isinstance(node.op, ast.BitOr | ast.BitAnd | ast.Sub | ast.BitXor) and is_set(node, (left, right)):
        sides = [without(side, frozenset({"unordered"})) for side in (left, right)]
        order = replace(part_at("unordered", node), loose=all(map(is_own, sides)))
        return marked(Seq(tuple(item for side in sides for item in items_of(side))), order)
    if isinstance(node.op, ast.Div) and (volatile(left) or volatile(right)):
        return path_of(left, right)
    if isinstance(left, Map) and isinstance(right, Map):
        return Map((*left.entries, *right.entries))
    return Text((*volatile(left), *volatile(right), Part(DYNAMIC)))


def _sum(node: ast.BinOp, scope: Scope) -> Value:
    operands: list[ast.expr] = []
    left: ast.expr = node
    while isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add):
        operands.append(left.right)
        left = left.left
    values = [evaluate(operand, scope) for operand in (left, *reversed(operands))]
    return add(*values)


def add(*values: Value) -> Value:
    """`+`: lists become one list, texts one text."""
    if any(isinstance(value, Seq) for value in values):
        marks = tuple(mark for value in values if isinstance(value, Seq) for mark in value.marks)
        plain = [Seq(value.items) if isinstance(value, Seq) else value for value in values]
        return Seq(tuple(item for value in plain for item in items_of(value)), marks)
    return concat(*values)


def _either(node: ast.IfExp, scope: Scope) -> Value:
    evaluate(node.test, scope)
    decided = scope.decides(node.test)
    if decided is not None:
        return evaluate(node.body if decided else node.orelse, scope)
    return join(evaluate(node.body, scope), evaluate(node.orelse, scope))


def _bool(node: ast.BoolOp, scope: Scope) -> Value:
    first, *others = [evaluate(value, scope) for value in node.values]
    spare = isinstance(node.op, ast.Or) and isinstance(node.values[0], ast.Call)
    for other in others:
        first = join(first, mapped(other, _spare) if spare else other)
    return first


def _spare(part: Part) -> Part:
    """An identifier for where another one could not be had."""
    return replace(part, loose=True) if part.kind == "id" else part


def _walrus(node: ast.NamedExpr, scope: Scope) -> Value:
    value = evaluate(node.value, scope)
    bind(node.target, value, scope)
    return value


def _inside(node: ast.Await | ast.Starred, scope: Scope) -> Value:
    return evaluate(node.value, scope)


def _call(node: ast.Call, scope: Scope) -> Value:
    return calls.evaluate_call(node, scope, evaluate)


def _lambda(_node: ast.Lambda, _scope: Scope) -> Value:
    return instance("lambda")[1]


_HANDLERS: dict[type[ast.expr], Callable[..., Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.JoinedStr: _joined,
    ast.FormattedValue: _formatted,
    ast.BinOp: _binary,
    ast.List: displays.display,
    ast.Tuple: displays.display,
    ast.Set: displays.display,
    ast.Dict: displays.mapping,
    ast.ListComp: displays.comprehension,
    ast.GeneratorExp: displays.comprehension,
    ast.SetComp: displays.comprehension,
    ast.DictComp: displays.dict_comprehension,
    ast.IfExp: _either,
    ast.BoolOp: _bool,
    ast.NamedExpr: _walrus,
    ast.Await: _inside,
    ast.Starred: _inside,
    ast.Call: _call,
    ast.Lambda: _lambda,
}
