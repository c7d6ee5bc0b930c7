"""Taking values apart and giving them names: fields, items, loop variables, assignment."""

from __future__ import annotations

import ast
import functools
from dataclasses import replace

from lint.sources.python import formats
from lint.sources.python.origins import narrow
from lint.sources.python.scope import Scope, place
from lint.sources.python.values import (
    DEFAULTED,
    EMPTY,
    ENVIRONMENT,
    ORDER,
    UNKNOWN,
    Map,
    Part,
    Seq,
    Text,
    Value,
    concat,
    param,
    parts_of,
    retag,
    volatile,
    without,
)

NO_MEMBER = ORDER | {"json_order"}
"""What a field of a value does not have from it."""


def part_at(kind: str, node: ast.expr) -> Part:
    """A part whose source is this expression."""
    row, column = place(node)
    return Part(kind, formats.shown(node), row, column)


INSTANCE = "instance"


def instance(name: str) -> tuple[str, Value]:
    """The entry that marks an object, or a function, as one that prints its address."""
    return f"<{INSTANCE}>", Text((Part(INSTANCE, name),))


def written(value: Value, node: ast.expr) -> Value:
    """What a value becomes when it is formatted: an object without a text of its own, its address."""
    mark = value.get(f"<{INSTANCE}>") if isinstance(value, Map) else value
    found = isinstance(mark, Text) and len(mark.parts) == 1 and mark.parts[0].kind == INSTANCE
    return Text((part_at("address", node),)) if found else value


def dotted(node: ast.Attribute) -> str:
    """The name under which a field of a variable is kept."""
    return f"{node.value.id}.{node.attr}" if isinstance(node.value, ast.Name) else ""


def member(value: Value, key: str, node: ast.expr) -> Value:
    """A field or item of a value."""
    if isinstance(value, Map):
        return value.get(key) or UNKNOWN
    if any(part.kind in (ENVIRONMENT, DEFAULTED) for part in parts_of(value)):
        return value
    if key == "page_content":
        return Text((part_at("docs", node),))
    item = item_of(value)
    if item is not None:
        kept = tuple(mark for mark in marks_of(value) if mark.kind not in NO_MEMBER)
        return concat(Text(kept), member(item, key, node)) if kept else member(item, key, node)
    found = param(value)
    if found is not None:
        row, column = place(node)
        return Text((replace(found, label=f"{found.label}.{key}", row=row, column=column),))
    kept = volatile(without(value, NO_MEMBER))
    return retag(Text(kept) if kept else UNKNOWN, narrow(key, None))


def item_of(value: Value) -> Map | None:
    """The object that any item of a list, or value of a mapping, is, field by field; None when they are others."""
    if isinstance(value, Seq):
        items = value.items
    elif isinstance(value, Map) and not value.made:
        items = tuple(inner for _, inner in value.entries)
    else:
        return None
    objects = [item for item in items if isinstance(item, Map) and is_object(item)]
    if not objects or any(volatile(item) for item in items if not is_object(item)):
        return None
    return functools.reduce(_either, objects)


def is_object(value: Value) -> bool:
    """Whether this is an object that is no message: its fields are read one by one."""
    return isinstance(value, Map) and value.made and value.get("role") is None


def _either(first: Map, second: Map) -> Map:
    keys = dict.fromkeys(key for key, _ in (*first.entries, *second.entries))
    sides = {key: (first.get(key) or EMPTY, second.get(key) or EMPTY) for key in keys}
    return Map(tuple((key, a if a == b else concat(a, b)) for key, (a, b) in sides.items()), made=True)


def marks_of(value: Value) -> tuple[Part, ...]:
    """What changes a list as a whole."""
    return value.marks if isinstance(value, Seq) else ()


def element_of(value: Value) -> Value:
    """What a loop variable over this value stands for."""
    if isinstance(value, Seq):
        item = item_of(value)
        drawn = tuple(mark for mark in value.marks if mark.kind == "sampled")
        if item is not None:
            return Text(drawn) if drawn else item
        marks = Text(drawn)
        return value.items[0] if len(value.items) == 1 and not marks.parts else concat(marks, *value.items)
    found = param(value)
    if found is not None:
        return Text((replace(found, label=f"{found.label}[]"),))
    return without(value if isinstance(value, Text) else concat(value), ORDER)


def bind(target: ast.expr, value: Value, scope: Scope) -> None:
    """Assign to a name, an attribute, or the names of a tuple."""
    if isinstance(target, ast.Name):
        scope.env[target.id] = value
        scope.walks.pop(target.id, None)
    elif isinstance(target, ast.Attribute) and dotted(target):
        scope.env[dotted(target)] = value
    elif isinstance(target, ast.Starred):
        bind(target.value, value, scope)
    elif isinstance(target, ast.Tuple | ast.List):
        exact = isinstance(value, Seq) and len(value.items) == len(target.elts)
        for index, element in enumerate(target.elts):
            bind(element, value.items[index] if exact and isinstance(value, Seq) else element_of(value), scope)
