"""Tools in one canonical order, so that the same set of tools is the same prompt.

What level `safe` may touch, and nothing else (why it is safe: docs/rewriting.md):

* the order of the tools in the array (code points of the name, stable for equal names; left alone when an
  element has no name),
* the order of keywords inside a tool's JSON Schema,
* the order of set-like lists: `required`, and the lists of `dependentRequired`.

Members move, the gaps between them stay: white space, number spellings, escapes and unknown keywords are the
client's own bytes. A strict tool is never changed inside, because grammar backends generate in declaration
order; neither are `enum`, `const`, `prefixItems`, `examples`, `default` and the order of property names.
JSON Schema keywords: draft 2020-12, and `definitions`, `dependencies` of older drafts.

Level `normalize` may also sort the properties of tools that are not strict. A function tool of the Responses API is
strict unless it says otherwise (https://platform.openai.com/docs/guides/migrate-to-responses).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from prefix.scan import Member, Span, elements, members, splice, unescape

_FIRST = ("$schema", "$id", "$ref", "type", "title", "description", "properties", "required")
_RANK = {name: f"{place:02}" for place, name in enumerate(_FIRST)}
_SCHEMA = frozenset(
    "items additionalItems additionalProperties unevaluatedItems unevaluatedProperties contains propertyNames "
    "not if then else contentSchema".split()
)
_SCHEMA_LIST = frozenset(("anyOf", "oneOf", "allOf", "items"))
_SCHEMA_MAP = frozenset(
    ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")
)


class Change(NamedTuple):
    """One rewrite: JSON pointer of the place in the client's body, and its kind."""

    path: str
    kind: str


class Tool(NamedTuple):
    """One canonical tool: its name (None when it has none), its bytes, what was changed inside it."""

    name: str | None
    raw: bytes
    changes: tuple[Change, ...]


class _Walk(NamedTuple):
    """One pass through a tool's schemas: what was changed so far, and whether properties are sorted too."""

    changes: list[Change]
    properties: bool


def canonical_tool(raw: bytes, *, properties: bool = False) -> Tool:
    """The canonical bytes of one element of a tools array; change paths are relative to the element.

    properties: sort the properties of a tool that is not strict by name, too (level `normalize`).
    """
    if raw[:1] != b"{":
        return Tool(None, raw, ())
    envelope = _unique(members(raw, 0))
    inner = envelope.get("function")
    path = "/function"
    if inner is None or raw[inner.start : inner.start + 1] != b"{":
        inner, path = Span(0, len(raw)), ""
    fields = _unique(members(raw, inner.start))
    name = _text(raw, fields.get("name"))
    if name is None or _is_true(raw, fields.get("strict")) or _is_true(raw, envelope.get("strict")):
        return Tool(name, raw, ())
    walk = _Walk([], properties and not (path == "" and _strict_by_default(raw, fields)))
    schemas = {key: fields[key] for key in ("parameters", "input_schema") if key in fields}
    new = {span: _schema(raw, span, f"{path}/{key}", walk) for key, span in schemas.items()}
    return Tool(name, splice(raw, new), tuple(walk.changes))


def canonical_order(names: Sequence[str | None]) -> list[int]:
    """The order in which tools of these names stand; the given order when one has no name."""
    places = range(len(names))
    known = [name for name in names if name is not None]
    if len(known) != len(names):
        return list(places)
    return sorted(places, key=known.__getitem__)


def permute(raw: bytes, span: Span, items: Sequence[Span], order: Sequence[int], new: Sequence[bytes]) -> bytes:
    """The container at `span` with its items (rewritten as `new`) in another order, the gaps in place."""
    parts: list[bytes] = []
    at = span.start
    for place, source in zip(items, order, strict=True):
        parts += (raw[at : place.start], new[source])
        at = place.end
    parts.append(raw[at : span.end])
    return b"".join(parts)


def _schema(raw: bytes, span: Span, path: str, walk: _Walk) -> bytes:
    if raw[span.start : span.start + 1] != b"{":
        return raw[span.start : span.end]
    found = members(raw, span.start)
    if len(_unique(found)) != len(found):  # moving duplicates could change which one counts
        return raw[span.start : span.end]
    new = [raw[m.key_start : m.value.start] + _keyword(raw, m, f"{path}/{_escape(m.name)}", walk) for m in found]
    order = sorted(range(len(found)), key=lambda i: _RANK.get(found[i].name, "99" + found[i].name))
    if order != list(range(len(found))):
        walk.changes.append(Change(path, "keyword_order"))
    return permute(raw, span, [Span(m.key_start, m.value.end) for m in found], order, new)


def _keyword(raw: bytes, member: Member, path: str, walk: _Walk) -> bytes:
    name, span = member.name, member.value
    kind = raw[span.start : span.start + 1]
    if name in _SCHEMA and kind == b"{":
        return _schema(raw, span, path, walk)
    if name in _SCHEMA_LIST and kind == b"[":
        return _each_element(raw, span, path, walk)
    if name == "properties" and kind == b"{" and walk.properties:
        return _sorted_properties(raw, span, path, walk)
    if name in _SCHEMA_MAP and kind == b"{":
        return _each_member(raw, span, path, walk, _schema)
    if name == "dependentRequired" and kind == b"{":
        return _each_member(raw, span, path, walk, _string_set)
    if name == "required" and kind == b"[":
        return _string_set(raw, span, path, walk)
    return raw[span.start : span.end]


def _each_element(raw: bytes, span: Span, path: str, walk: _Walk) -> bytes:
    items = elements(raw, span)
    new = [_schema(raw, item, f"{path}/{place}", walk) for place, item in enumerate(items)]
    return permute(raw, span, items, range(len(items)), new)


_Rewrite = Callable[[bytes, Span, str, _Walk], bytes]


def _each_member(raw: bytes, span: Span, path: str, walk: _Walk, rewrite: _Rewrite) -> bytes:
    found = members(raw, span.start)
    new = [rewrite(raw, m.value, f"{path}/{_escape(m.name)}", walk) for m in found]
    return permute(raw, span, [m.value for m in found], range(len(found)), new)


def _sorted_properties(raw: bytes, span: Span, path: str, walk: _Walk) -> bytes:
    found = members(raw, span.start)
    new = [raw[m.key_start : m.value.start] + _schema(raw, m.value, f"{path}/{_escape(m.name)}", walk) for m in found]
    order = canonical_order([m.name for m in found])
    if order != list(range(len(found))):
        walk.changes.append(Change(path, "property_order"))
    return permute(raw, span, [Span(m.key_start, m.value.end) for m in found], order, new)


def _string_set(raw: bytes, span: Span, path: str, walk: _Walk) -> bytes:
    if raw[span.start : span.start + 1] != b"[":
        return raw[span.start : span.end]
    items = elements(raw, span)
    literals = [raw[item.start : item.end] for item in items]
    if not all(literal.startswith(b'"') for literal in literals):
        return raw[span.start : span.end]
    order = sorted(range(len(items)), key=lambda i: unescape(literals[i]))
    if order != list(range(len(items))):
        walk.changes.append(Change(path, "set_order"))
    return permute(raw, span, items, order, literals)


def _unique(found: Sequence[Member]) -> dict[str, Span]:
    return {member.name: member.value for member in found}


def _text(raw: bytes, span: Span | None) -> str | None:
    if span is None or raw[span.start : span.start + 1] != b'"':
        return None
    return unescape(raw[span.start : span.end])


def _strict_by_default(raw: bytes, fields: Mapping[str, Span]) -> bool:
    """Whether a flat tool is one of the Responses API that does not say `strict`."""
    return "strict" not in fields and "parameters" in fields and _text(raw, fields.get("type")) == "function"


def _is_true(raw: bytes, span: Span | None) -> bool:
    return span is not None and raw[span.start : span.end] == b"true"


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
