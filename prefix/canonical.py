"""The canonical body: the client's own bytes, with what the level allows put in one order.

`off` returns the very bytes. `safe` (the default) reorders tools, schema keywords and set-like lists (prefix.tools);
the meaning is the same set of tools, the rendered prompt one of its permutations. Rewritten slices are spliced by
offset; the object is never rebuilt. The same input gives the same bytes on every replica.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import xxhash

from prefix.body import Body, parse_body
from prefix.errors import ConfigError
from prefix.scan import Span, elements, splice, value_end
from prefix.tools import Change, Tool, canonical_order, canonical_tool, permute

Level = Literal["off", "safe"]
LEVELS: tuple[Level, ...] = get_args(Level)
TOOL_KEYS = ("tools", "functions")


class Canonical(NamedTuple):
    """The result: the bytes to send, and every rewrite made on the way."""

    body: bytes
    changes: tuple[Change, ...]

    @property
    def changed(self) -> bool:
        """Whether `body` differs from what the client sent."""
        return bool(self.changes)


class CanonicalTools(NamedTuple):
    """One tools array in canonical form; change paths are relative to the array."""

    raw: bytes
    changes: tuple[Change, ...]


class ToolCache:
    """Canonical tools by hash of their raw bytes, least recently used out first.

    Bounded by entries and by bytes kept. Two levels: whole arrays, and single tools, because clients that gather
    tools in no order send many arrays of few tools. A cache changes speed only, never a result.
    """

    __slots__ = ("_arrays", "_bytes", "_limit", "_tools")

    def __init__(self, limit_bytes: int = 16 << 20) -> None:
        self._arrays: OrderedDict[int, CanonicalTools] = OrderedDict()
        self._tools: OrderedDict[int, Tool] = OrderedDict()
        self._bytes = 0
        self._limit = limit_bytes

    def array(self, raw: bytes) -> CanonicalTools:
        """The canonical form of one tools array."""
        key = xxhash.xxh3_128_intdigest(raw)
        known = self._arrays.get(key)
        if known is not None:
            self._arrays.move_to_end(key)
            return known
        made = _canonical_array(raw, self)
        self._arrays[key] = made
        self._account(len(made.raw))
        return made

    def tool(self, raw: bytes) -> Tool:
        """The canonical form of one tool."""
        key = xxhash.xxh3_128_intdigest(raw)
        known = self._tools.get(key)
        if known is not None:
            self._tools.move_to_end(key)
            return known
        value_end(raw, 0, depth=2)  # refuses what nests too deep
        made = canonical_tool(raw)
        self._tools[key] = made
        self._account(len(made.raw))
        return made

    def _account(self, size: int) -> None:
        self._bytes += size + 256  # an entry is never free
        while self._bytes > self._limit and (self._arrays or self._tools):
            pool = self._arrays if len(self._arrays) >= len(self._tools) else self._tools
            _, dropped = pool.popitem(last=False)
            self._bytes -= len(dropped.raw) + 256


def canonicalize(body: bytes, *, level: Level = "safe") -> Canonical:
    """The canonical bytes of a request body.

    Idempotent; deterministic across processes and hosts; `off` returns the very bytes. A body that is not strict
    JSON (NaN, lone surrogates) is returned as it is. Raises BodyError for what no engine can accept, and
    ConfigError for an unknown level.
    """
    if level not in LEVELS:
        raise ConfigError(f"unknown level {level!r}: use one of {', '.join(LEVELS)}")
    if level == "off":
        return Canonical(body, ())
    parsed = parse_body(body)
    parsed.value("messages")  # refuses what nests too deep
    replacements, changes = canonical_members(parsed, ToolCache(limit_bytes=0))
    return Canonical(splice(body, replacements) if replacements else body, changes)


def canonical_members(body: Body, cache: ToolCache) -> tuple[dict[Span, bytes], tuple[Change, ...]]:
    """What level `safe` replaces in a parsed body: new bytes by span, and the list of changes."""
    replacements: dict[Span, bytes] = {}
    changes: tuple[Change, ...] = ()
    if body.opaque is not None:
        return replacements, changes
    for key in TOOL_KEYS:
        span = body.spans.get(key)
        if span is None or body.raw[span.start : span.start + 1] != b"[":
            continue
        made = cache.array(body.raw[span.start : span.end])
        if made.changes:
            replacements[span] = made.raw
            changes += tuple(Change(f"/{key}{change.path}", change.kind) for change in made.changes)
    return replacements, changes


def _canonical_array(raw: bytes, cache: ToolCache) -> CanonicalTools:
    whole = Span(0, len(raw))
    items = elements(raw, whole)
    tools = [cache.tool(raw[item.start : item.end]) for item in items]
    order = canonical_order([tool.name for tool in tools])
    changes = _inside(tools)
    if order != list(range(len(items))):
        changes.insert(0, Change("", "tool_order"))
    if not changes:
        return CanonicalTools(raw, ())
    new = permute(raw, whole, items, order, [tool.raw for tool in tools])
    return CanonicalTools(new, tuple(changes))


def _inside(tools: Sequence[Tool]) -> list[Change]:
    return [Change(f"/{place}{c.path}", c.kind) for place, tool in enumerate(tools) for c in tool.changes]
