"""Follows what changes a list or mapping in place: items set or deleted, `append`, `insert`, `pop`, `shuffle`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from lint.sources.python import formats
from lint.sources.python.expressions import add, evaluate
from lint.sources.python.scope import Scope, place
from lint.sources.python.shapes import anywhere, cuts_front, from_end, is_envelope, shrinks
from lint.sources.python.values import (
    ORDER,
    Map,
    Part,
    Seq,
    Value,
    is_own,
    items_of,
    literal,
    marked,
    parts_of,
    without,
)


def set_item(target: ast.Subscript, value: Value, scope: Scope, node: ast.stmt | ast.expr) -> None:
    """`owner[index] = value`."""
    base = target.value
    if isinstance(base, ast.Subscript):
        _set_in_message(target, base, value, scope, node)
        return
    name = key_of(base)
    if name in scope.walks:
        edit_walked(name, target, value, scope, node)
    elif name:
        scope.env[name] = _with_item(evaluate(base, scope), target.slice, value)


def edit_walked(
    name: str, target: ast.Subscript | ast.Attribute, value: Value, scope: Scope, node: ast.stmt | ast.expr
) -> None:
    """A field of a loop variable is set: an edit of the list when only old messages are, or text is cut down."""
    if shrinks(target, node, value) or (name in scope.aged and not is_envelope(target)):
        edit(scope.walks[name], scope, node)


def _with_item(owner: Value, index: ast.expr, value: Value) -> Value:
    key = formats.constant_text(index)
    if isinstance(owner, Map):
        return Map((*(entry for entry in owner.entries if entry[0] != key), (key or "?", value)))
    number = formats.integer(index)
    if isinstance(owner, Seq) and number is not None and 0 <= number < len(owner.items):
        return Seq((*owner.items[:number], value, *owner.items[number + 1 :]), owner.marks)
    return owner


def _set_in_message(
    target: ast.Subscript, message: ast.Subscript, value: Value, scope: Scope, node: ast.stmt | ast.expr
) -> None:
    """`messages[i]["content"] = value`."""
    name = key_of(message.value)
    index = formats.integer(message.slice)
    if not name or isinstance(message.slice, ast.UnaryOp):
        return
    held = evaluate(message.value, scope)
    if isinstance(held, Map):
        return
    if index == 0:
        rest = items_of(held)[1:] if isinstance(held, Seq) else items_of(held)
        scope.env[name] = Seq((Map((("role", literal("system")), ("content", value))), *rest))
    elif formats.constant_text(message.slice) is None and shrinks(target, node, value):
        edit(name, scope, node)


def edit(name: str, scope: Scope, node: ast.stmt | ast.expr) -> None:
    """Note that earlier items of a list are rewritten."""
    held = scope.env.get(name)
    if held is not None:
        row, column = place(node)
        shape = held if isinstance(held, Seq) else Seq(items_of(held))
        scope.env[name] = marked(shape, Part("edited", name, row, column))


def key_of(node: ast.expr) -> str:
    """The name under which a variable or a field is kept."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return ""


def changes(call: ast.Call, callee: ast.Attribute, scope: Scope) -> bool:
    """Follow a call that changes its receiver or argument in place. Returns whether it was one."""
    name = key_of(callee.value)
    if callee.attr == "seed" and call.args and scope.resolve(callee) == "random.seed":
        scope.seeded = isinstance(call.args[0], ast.Constant)
        return True
    if callee.attr == "shuffle" and call.args:
        return shuffle(call, scope)
    handler = _MUTATIONS.get(callee.attr)
    if handler is not None and isinstance(callee.value, ast.Subscript):
        held = handler(evaluate(callee.value, scope), call, scope)
        if held is not None:
            set_item(callee.value, held, scope, call)
        return held is not None
    if handler is None or not (name in scope.env or name in scope.run.globals) or scope.resolve(callee):
        return False
    held = evaluate(callee.value, scope)
    changed = handler(held, call, scope)
    if changed is None:
        return False
    scope.env[name] = changed
    return True


def shuffle(call: ast.Call, scope: Scope) -> bool:
    """`random.shuffle(items)`. Always true, for `changes`."""
    name = key_of(call.args[0])
    effect = evaluate(call, scope)
    parts = [part for part in parts_of(effect) if part.kind == "shuffled"]
    if name and parts:
        held = evaluate(call.args[0], scope)
        order = replace(parts[0], loose=is_own(held))
        scope.env[name] = marked(held if isinstance(held, Seq) else Seq(items_of(held)), order)
    return True


def _appended(held: Value, call: ast.Call, scope: Scope) -> Value | None:
    if not call.args:
        return None
    return scope.collected(Seq((*items_of(_plain(held)), evaluate(call.args[0], scope)), _own(held)), _list(call))


def _extended(held: Value, call: ast.Call, scope: Scope) -> Value | None:
    if not call.args:
        return None
    return scope.collected(add(Seq(items_of(_plain(held)), _own(held)), evaluate(call.args[0], scope)), _list(call))


def _list(call: ast.Call) -> str:
    """The name of what a method is called of."""
    return key_of(call.func.value) if isinstance(call.func, ast.Attribute) else ""


def _plain(held: Value) -> Value:
    return Seq(held.items) if isinstance(held, Seq) else held


def _own(held: Value) -> tuple[Part, ...]:
    return held.marks if isinstance(held, Seq) else ()


def _inserted(held: Value, call: ast.Call, scope: Scope) -> Value | None:
    if len(call.args) != 2:
        return None
    value = evaluate(call.args[1], scope)
    items = items_of(_plain(held))
    if from_end(call.args[0]) and isinstance(value, Map) and _is_local(call):
        held = marked(
            held if isinstance(held, Seq) else Seq(items), Part("moving", formats.shown(call), *place(call))
        )
    if formats.integer(call.args[0]) == 0:
        return Seq((value, *items), _own(held))
    return scope.collected(Seq((*items, value), _own(held)), _list(call))


def _is_local(call: ast.Call) -> bool:
    """Whether the list lives no longer than this request, as far as its name says."""
    return isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name)


def _popped(held: Value, call: ast.Call, scope: Scope) -> Value | None:
    """The first item taken out: once it is the system text or the like, while there are too many it is a window."""
    first = getattr(call.func, "attr", "") == "popleft" or (call.args and formats.integer(call.args[0]) is not None)
    if not first or isinstance(held, Map):
        return None
    rest = Seq(items_of(_plain(held)), _own(held))
    return marked(rest, Part("window", formats.shown(call), *place(call))) if scope.bounded else rest


def _sorted(held: Value, _call: ast.Call, _scope: Scope) -> Value | None:
    return without(held, ORDER)


def _updated(held: Value, call: ast.Call, scope: Scope) -> Value | None:
    given = evaluate(call.args[0], scope) if call.args else Map()
    named = tuple((k.arg, evaluate(k.value, scope)) for k in call.keywords if k.arg)
    if isinstance(held, Map) and isinstance(given, Map):
        return Map((*held.entries, *given.entries, *named))
    return None


_MUTATIONS: dict[str, Callable[[Value, ast.Call, Scope], Value | None]] = {
    "append": _appended,
    "appendleft": lambda held, call, scope: (
        Seq((evaluate(call.args[0], scope), *items_of(held))) if call.args else None
    ),
    "add": _appended,
    "extend": _extended,
    "insert": _inserted,
    "pop": _popped,
    "popleft": _popped,
    "sort": _sorted,
    "update": _updated,
}


def delete(node: ast.Delete, scope: Scope) -> None:
    """`del items[index]`."""
    for target in node.targets:
        if isinstance(target, ast.Subscript) and key_of(target.value) in scope.env:
            if isinstance(target.slice, ast.UnaryOp) or formats.constant_text(target.slice) is not None:
                continue
            if isinstance(target.slice, ast.Slice) and (cuts_front(target.slice) or anywhere(target.slice)):
                continue
            name = key_of(target.value)
            held = scope.env[name]
            if not isinstance(held, Map):
                scope.env[name] = marked(
                    Seq(items_of(_plain(held)), _own(held)), Part("window", f"del {name}[…]", *place(node))
                )
