"""Lists, mappings and comprehensions: what they hold, in which order, and what of the walked items they leave."""

from __future__ import annotations

import ast
from dataclasses import replace

from lint.sources.python import formats, guesses
from lint.sources.python.binding import bind, element_of, is_object, marks_of, part_at
from lint.sources.python.scope import Scope
from lint.sources.python.shapes import rewrites
from lint.sources.python.values import (
    EMPTY,
    STATIC,
    Map,
    Seq,
    Spread,
    Text,
    Value,
    concat,
    is_own,
    items_of,
    marked,
    order_of,
    parts_of,
    volatile,
)

_IMAGES = frozenset({"image", "image_url", "input_image"})


def display(node: ast.List | ast.Tuple | ast.Set, scope: Scope) -> Value:
    """`[a, *b]`, `(a, b)`, `{a, b}`; a set has no order."""
    items: list[Value] = []
    for element in node.elts[:1000]:
        value = scope.run.evaluate(element.value if isinstance(element, ast.Starred) else element, scope)
        items.extend(items_of(value) if isinstance(element, ast.Starred) else [value])
    shape = Seq(tuple(items))
    return _of_set(shape, node) if isinstance(node, ast.Set) and len(items) > 1 else shape


def _of_set(items: Value, node: ast.expr) -> Value:
    return marked(items, replace(part_at("unordered", node), loose=is_own(items)))


def mapping(node: ast.Dict, scope: Scope) -> Value:
    """`{"key": value, **more}`; one that is an image says so first."""
    entries: list[tuple[str, Value]] = []
    for key, inner in zip(node.keys[:1000], node.values, strict=False):
        value = scope.run.evaluate(inner, scope)
        if key is None:
            entries.extend(value.entries if isinstance(value, Map) else [("**", concat(value))])
        else:
            name = scope.run.evaluate(key, scope)
            entries.append((formats.known(name) or "?", value if not volatile(name) else concat(name, value)))
    held = Map(tuple(entries))
    guesses.spoken(held, node, scope)
    if formats.known(held.get("type") or EMPTY) in _IMAGES and any(p.kind != STATIC for p in parts_of(held)):
        return Map((("<image>", Text((part_at("image", node),))), *held.entries))
    return held


def comprehension(node: ast.ListComp | ast.GeneratorExp | ast.SetComp, scope: Scope) -> Value:
    """`[f(x) for x in items]`; the order of the items is that of the result."""
    inner = _bind_generators(node.generators, scope)
    walked = inner.env.pop("<walked>", EMPTY)
    element = scope.run.evaluate(node.elt, inner)
    marks = tuple(part for part in order_of(walked) if part.kind in ("unordered", "shuffled", "sampled", "window"))
    items: Value = Seq((Spread(concat(element)),) if not isinstance(element, Map) else (element,), marks)
    if rewrites(node):
        items = marked(items, part_at("edited", node))
    return _of_set(items, node) if isinstance(node, ast.SetComp) else items


def _bind_generators(generators: list[ast.comprehension], scope: Scope) -> Scope:
    inner = scope.branch()
    for index, generator in enumerate(generators):
        walked = scope.run.evaluate(generator.iter, inner)
        bind(generator.target, element_of(walked), inner)
        if index == 0:
            inner.env["<walked>"] = walked
    return inner


def dict_comprehension(node: ast.DictComp, scope: Scope) -> Value:
    """`{k: v for …}`, as the text of its keys and values; of objects, as a list of them."""
    inner = _bind_generators(node.generators, scope)
    walked = inner.env.pop("<walked>", EMPTY)
    key, value = scope.run.evaluate(node.key, inner), scope.run.evaluate(node.value, inner)
    return Seq((value,), marks_of(walked)) if is_object(value) else concat(Text(volatile(walked)), key, value)
