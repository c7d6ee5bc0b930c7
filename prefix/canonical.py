"""The canonical body: the client's own bytes, with what the level allows brought to one form.

`off` returns the very bytes. `safe` (the default) reorders tools, schema keywords and set-like lists (prefix.tools);
the meaning is the same set of tools, the rendered prompt one of its permutations. `normalize` (prefix.normalize) and
`hoist` (prefix.hoist) are lossy and asked for by name; each level includes the ones before it. Rewritten slices are
spliced by offset; the object is never rebuilt. The same input gives the same bytes on every replica.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import msgspec
import xxhash

from prefix.body import Body, parse_body
from prefix.errors import ConfigError
from prefix.hoist import MOVABLE, Hoist, HoistReport, hoist
from prefix.normalize import NONCES, normalize
from prefix.place import Rewrite
from prefix.scan import Span, elements, splice, value_end
from prefix.tools import Change, Tool, canonical_order, canonical_tool, permute

Level = Literal["off", "safe", "normalize", "hoist"]
LEVELS: tuple[Level, ...] = get_args(Level)
"""From nothing to most; each includes the ones before it."""
TOOL_KEYS = ("tools", "functions")
_MARK = b'"cache_control"'


class Rules(msgspec.Struct, frozen=True):
    """What the lossy levels may do. strip: names of the nonces to remove. hoist: spans to report or to move.

    keep_marked: leave the order of arrays that carry `cache_control` marks alone, for engines that bill by
    breakpoints: a mark says "cached up to here".
    """

    strip: tuple[str, ...] = NONCES
    hoist: Hoist = Hoist()
    keep_marked: bool = False

    def check(self) -> None:
        """Raise ConfigError for a name nobody knows, or a rewrite of no kinds."""
        for what, names, known in (
            ("nonce", self.strip, NONCES),
            ("kind of volatile span", self.hoist.kinds, MOVABLE),
        ):
            for name in names:
                if name not in known:
                    raise ConfigError(f"unknown {what} {name!r}: use some of {', '.join(known)}")
        if self.hoist.mode == "rewrite" and not self.hoist.kinds:
            raise ConfigError("hoist: mode `rewrite` moves only the kinds it is told: list them in `kinds`")


RULES = Rules()
"""Strip every known nonce, report every kind of volatile span, move none."""


class Canonical(NamedTuple):
    """The result: the bytes to send, and every rewrite made on the way."""

    body: bytes
    changes: tuple[Change, ...]

    @property
    def changed(self) -> bool:
        """Whether `body` differs from what the client sent."""
        return bool(self.changes)


class Rewritten(NamedTuple):
    """A body at a level, still to be spliced: level by level only what changes text is parsed again.

    body: the client's, or what the lossy levels made of it. replacements: new bytes by span of `body`.
    changes: every rewrite, the lossy ones too; paths are those of the body each of them saw.
    hoist: what moving volatile spans saves, when the level looks for them and finds some.
    """

    body: Body
    replacements: dict[Span, bytes]
    changes: tuple[Change, ...]
    hoist: HoistReport | None


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

    def array(self, raw: bytes, *, properties: bool = False, keep_marked: bool = False) -> CanonicalTools:
        """The canonical form of one tools array. properties, keep_marked: as `canonical_members` has them."""
        key = xxhash.xxh3_128_intdigest(raw, seed=properties + 2 * keep_marked)
        known = self._arrays.get(key)
        if known is not None:
            self._arrays.move_to_end(key)
            return known
        made = _canonical_array(raw, self, properties=properties, keep_order=keep_marked and _MARK in raw)
        self._arrays[key] = made
        self._account(len(made.raw))
        return made

    def tool(self, raw: bytes, *, properties: bool = False) -> Tool:
        """The canonical form of one tool."""
        key = xxhash.xxh3_128_intdigest(raw, seed=properties)
        known = self._tools.get(key)
        if known is not None:
            self._tools.move_to_end(key)
            return known
        value_end(raw, 0, depth=2)  # refuses what nests too deep
        made = canonical_tool(raw, properties=properties)
        self._tools[key] = made
        self._account(len(made.raw))
        return made

    def _account(self, size: int) -> None:
        self._bytes += size + 256  # an entry is never free
        while self._bytes > self._limit and (self._arrays or self._tools):
            pool = self._arrays if len(self._arrays) >= len(self._tools) else self._tools
            _, dropped = pool.popitem(last=False)
            self._bytes -= len(dropped.raw) + 256


def canonicalize(body: bytes, *, level: Level = "safe", rules: Rules = RULES) -> Canonical:
    """The canonical bytes of a request body.

    Idempotent; deterministic across processes and hosts; `off` returns the very bytes. A body that is not strict
    JSON (NaN, lone surrogates) is returned as it is. Raises BodyError for what no engine can accept, and
    ConfigError for an unknown level or rules that `Rules.check` refuses.
    """
    if level not in LEVELS:
        raise ConfigError(f"unknown level {level!r}: use one of {', '.join(LEVELS)}")
    rules.check()
    if level == "off":
        return Canonical(body, ())
    parsed = parse_body(body)
    parsed.value("messages")  # refuses what nests too deep
    made = rewrite(parsed, ToolCache(limit_bytes=0), level, rules)
    raw = made.body.raw
    return Canonical(splice(raw, made.replacements) if made.replacements else raw, made.changes)


def rewrite(body: Body, cache: ToolCache, level: Level, rules: Rules = RULES) -> Rewritten:
    """A parsed body at a level. Raises BodyError for what nests too deep."""
    if level == "off" or body.opaque is not None:
        return Rewritten(body, {}, (), None)
    changes: tuple[Change, ...] = ()
    report = None
    lossy = level in ("normalize", "hoist")
    if lossy:
        body, changes = _applied(body, normalize(body, rules.strip, keep_marked=rules.keep_marked))
    if level == "hoist":
        made, report = hoist(body, rules.hoist)
        body, moved = _applied(body, made)
        changes += moved
    replacements, ordered = canonical_members(body, cache, properties=lossy, keep_marked=rules.keep_marked)
    return Rewritten(body, replacements, changes + ordered, report)


def _applied(body: Body, made: Rewrite) -> tuple[Body, tuple[Change, ...]]:
    return parse_body(splice(body.raw, made.replacements)) if made.replacements else body, made.changes


def canonical_members(
    body: Body, cache: ToolCache, *, properties: bool = False, keep_marked: bool = False
) -> tuple[dict[Span, bytes], tuple[Change, ...]]:
    """What level `safe` replaces in a parsed body: new bytes by span, and the list of changes.

    properties: sort the properties of tools that are not strict, too (level `normalize`). keep_marked: leave the
    order of an array that carries `cache_control` marks alone.
    """
    replacements: dict[Span, bytes] = {}
    changes: tuple[Change, ...] = ()
    if body.opaque is not None:
        return replacements, changes
    for key in TOOL_KEYS:
        raw = body.slice(key)
        if raw is None or not raw.startswith(b"["):
            continue
        made = cache.array(raw, properties=properties, keep_marked=keep_marked)
        if made.changes:
            replacements[body.spans[key]] = made.raw
            changes += tuple(Change(f"/{key}{change.path}", change.kind) for change in made.changes)
    return replacements, changes


def _canonical_array(raw: bytes, cache: ToolCache, *, properties: bool, keep_order: bool) -> CanonicalTools:
    whole = Span(0, len(raw))
    items = elements(raw, whole)
    tools = [cache.tool(raw[item.start : item.end], properties=properties) for item in items]
    given = list(range(len(items)))
    order = given if keep_order else canonical_order([tool.name for tool in tools])
    changes = _inside(tools)
    if order != given:
        changes.insert(0, Change("", "tool_order"))
    if not changes:
        return CanonicalTools(raw, ())
    new = permute(raw, whole, items, order, [tool.raw for tool in tools])
    return CanonicalTools(new, tuple(changes))


def _inside(tools: Sequence[Tool]) -> list[Change]:
    return [Change(f"/{place}{c.path}", c.kind) for place, tool in enumerate(tools) for c in tool.changes]
