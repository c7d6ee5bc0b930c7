"""Methods of values: of strings, of clocks, of random generators, of what is read from a file or retrieved."""

from __future__ import annotations

import ast

from lint.sources.python import formats
from lint.sources.python.binding import item_of, marks_of, written
from lint.sources.python.call import Call, carried, origin, told
from lint.sources.python.module import chain
from lint.sources.python.origins import RETRIEVES, narrow, of_call
from lint.sources.python.values import (
    FILE,
    PARAM,
    UNKNOWN,
    Map,
    Seq,
    Spread,
    Text,
    Value,
    concat,
    parts_of,
    retag,
    volatile,
    without,
)

_KEEPS = frozenset(
    """strip lstrip rstrip lower upper title capitalize encode decode copy items values dedent expandtabs splitlines
    split isoformat astimezone total_seconds timestamp timetuple hex""".split()
)
_OF_ITEMS = frozenset("pop popleft values items get".split())
_READS = frozenset({"read", "read_text", "getvalue"})


def method_of(call: Call, method: str, receiver: Value) -> Value | None:
    """What a method of this value returns; None when nothing is known of it."""
    if method == "join":
        return _join(call, receiver)
    if method == "format" and parts_of(receiver):
        given = [written(value, call.node) for value in call.positional]
        return formats.braces(receiver, given, {k: written(value, call.node) for k, value in call.named.items()})
    if method == "format_map" and isinstance(call.first(), Map):
        return formats.braces(receiver, (), _fields(call))
    if method in ("substitute", "safe_substitute", "render"):
        return formats.named_holes(receiver, _fields(call), jinja=method == "render")
    if method == "replace" and len(call.positional) >= 2:
        return formats.swap(receiver, formats.known(call.first()), call.positional[1])
    if method in ("partition", "split") and formats.known(call.first()) == "?":
        return without(receiver, frozenset({"signed"}))
    item = item_of(receiver)
    if item is not None and method in _OF_ITEMS:
        return _of_items(method, item, receiver)
    if method in ("strftime", "isoformat", "date") or (method in _KEEPS and not _is_generator(receiver)):
        return retag(_carrier(receiver), narrow(method, formats.known(call.first()) if call.positional else None))
    if _is_generator(receiver):
        kind = of_call(f"random.{method}")
        return origin(call, "", kind) if kind else UNKNOWN
    if method == "get" and isinstance(receiver, Map):
        return receiver.get(formats.known(call.first()) or "") or UNKNOWN
    if method in _READS and any(part.open for part in parts_of(receiver)):
        return receiver
    return _method_source(call, method, receiver)


def _of_items(method: str, item: Map, receiver: Value) -> Value:
    """What a list, or mapping, of objects gives out."""
    if method in ("values", "items"):
        return Seq((Seq((UNKNOWN, item)) if method == "items" else item,), marks_of(receiver))
    return item


def _fields(call: Call) -> dict[str, Value]:
    """What a template is filled with: of a mapping, and of keywords."""
    first = call.first()
    return {**(dict(first.entries) if isinstance(first, Map) else {}), **call.named}


def _carrier(receiver: Value) -> Value:
    return receiver if parts_of(receiver) else UNKNOWN


def _method_source(call: Call, method: str, receiver: Value) -> Value | None:
    kind = of_call(f".{method}")
    if kind is not None:
        return Text((call.part(kind),))
    if method == "read_text":
        return FILE
    if method in RETRIEVES and "retriev" in chain(call.node.func):
        return Text((call.part("docs"),))
    if method == "open":
        return FILE
    if isinstance(receiver, Map):
        return None
    own = volatile(told(receiver))
    return Text((*own, *carried(call))) if own else None


def _is_generator(value: Value) -> bool:
    return any(part.label == "generator" for part in parts_of(value))


def _join(call: Call, separator: Value) -> Value:
    items = call.first()
    if isinstance(items, Seq) and len(items.items) == 1 and isinstance(items.items[0], Spread | Text):
        found = next((part for part in parts_of(items.items[0]) if part.kind == PARAM and "[]" in part.label), None)
        if found is not None and call.node.args and isinstance(call.node.args[0], ast.GeneratorExp | ast.ListComp):
            return concat(Text(items.marks), Text((call.part(PARAM, found.label),)))
    if isinstance(items, Seq):
        parts: list[Value] = [Text(items.marks)]
        for index, item in enumerate(items.items):
            parts += [separator, item] if index else [item]
        return concat(*parts)
    return items
