"""Where a prompt parts into its stable prefix and its suffix.

The stable prefix is the tools and the system text that leads the conversation: what the operator wrote, the same for
everybody. Traffic may show that more is shared (few-shot examples, a document: prefix.popularity); `reaching` moves
the boundary there. It never moves the prompt version, because every replica sees its own traffic.

Lengths are UTF-8 bytes of what a segment puts into the prompt: its text, and compact JSON for what is no text (tools,
tool calls, images; four bytes for a token id). What a template adds is not counted.
"""

import json
from typing import Any, NamedTuple

from prefix.body import Body, parse_body
from prefix.canonical import TOOL_KEYS, ToolCache, canonical_members
from prefix.place import pointer
from prefix.prompt_version import PromptVersions, leading_system
from prefix.system import turns

TOKEN_BYTES = 4
"""What a token id counts: as much as a token of English text."""

_PLAIN = ("messages", "input", "prompt", "text", "input_ids")
_SPOKEN = tuple("content reasoning_content reasoning refusal name tool_calls arguments output summary".split())


class Segment(NamedTuple):
    """One piece of a prompt: its JSON pointer, and how many bytes it puts into the prompt."""

    pointer: str
    bytes: int


class Tools(NamedTuple):
    """A body's tools: the JSON pointer of the array, and its canonical bytes."""

    pointer: str
    raw: bytes


class Extent(NamedTuple):
    """Consecutive segments of a prompt. ends_at: JSON pointer of what comes behind them."""

    segments: tuple[Segment, ...]
    ends_at: str

    @property
    def bytes(self) -> int:
        """Their length together."""
        return sum(segment.bytes for segment in self.segments)


class Split(NamedTuple):
    """A prompt in two. prompt_version: of tools and leading system text, None when there is neither."""

    stable_prefix: Extent
    suffix: Extent
    prompt_version: str | None

    @property
    def ends_at(self) -> str:
        """JSON pointer of the place where the two part."""
        return self.stable_prefix.ends_at

    def reaching(self, shared: int, total: int) -> "Split":
        """The split whose stable prefix covers at least `shared` of the `total` bytes of the prompt's view.

        A view (prefix.view) counts other bytes than segments do, so its share is what carries over. The boundary
        may fall inside a segment, which then counts on both sides; it never moves back.
        """
        size = self.stable_prefix.bytes + self.suffix.bytes
        more = min(size, size * shared // max(1, total)) - self.stable_prefix.bytes
        moved: list[Segment] = []
        rest = list(self.suffix.segments)
        while rest and more > 0:
            place, length = rest.pop(0)
            moved.append(Segment(place, min(length, more)))
            if length > more:
                rest.insert(0, Segment(place, length - more))
            more -= length
        end = self.suffix.ends_at
        return self._replace(
            stable_prefix=Extent((*self.stable_prefix.segments, *moved), rest[0].pointer if rest else end),
            suffix=Extent(tuple(rest), end),
        )


def split(body: bytes) -> Split:
    """The stable prefix and the suffix of a request body of any supported shape. Raises BodyError."""
    parsed = parse_body(body)
    tools = canonical_tools(parsed, ToolCache(limit_bytes=0))
    leading = leading_system(parsed)
    prefix = [] if tools is None else [Segment(tools.pointer, _size(json.loads(tools.raw)))]
    prefix += [Segment(pointer(path), _message_bytes(message)) for path, message in leading]
    suffix, end = _conversation(parsed, sum(len(path) > 1 for path, _ in leading))
    return Split(
        Extent(tuple(prefix), suffix[0].pointer if suffix else end),
        Extent(suffix, end),
        PromptVersions().version(parsed, None if tools is None else tools.raw),
    )


def canonical_tools(body: Body, cache: ToolCache) -> Tools | None:
    """The tools of a body in canonical form, None when it has none."""
    replacements, _ = canonical_members(body, cache)
    for key in TOOL_KEYS:
        raw = body.slice(key)
        if raw is not None and raw.startswith(b"["):
            return Tools(f"/{key}", (replacements and replacements.get(body.spans[key])) or raw)
    return None


def _conversation(body: Body, start: int) -> tuple[tuple[Segment, ...], str]:
    """The segments behind the leading system text (`start` messages of it), and the pointer of what comes next."""
    key, items = turns(body)
    if items or body.slice(key) == b"[]":
        rest = tuple(Segment(f"/{key}/{at}", _message_bytes(items[at])) for at in range(start, len(items)))
        return rest, f"/{key}/{len(items)}"
    found = next((key for key in _PLAIN if key in body), None)
    if found is None:
        return (), ""
    return (Segment(f"/{found}", _size(body.value(found))),), f"/{found}"


def _message_bytes(message: Any) -> int:
    if type(message) is not dict:
        return _size(message)
    spoken = (message[key] for key in _SPOKEN if message.get(key) is not None)
    return sum(sum(map(_part_bytes, value)) if type(value) is list else _size(value) for value in spoken)


def _part_bytes(part: Any) -> int:
    if type(part) is dict and type(part.get("text")) is str:
        return _size(part["text"])
    return _size({key: part[key] for key in part if key != "cache_control"} if type(part) is dict else part)


def _size(value: Any) -> int:
    if type(value) is str:
        return len(value.encode("utf-8", "surrogatepass"))
    if type(value) is list and value and all(type(item) is int for item in value):
        return TOKEN_BYTES * len(value)
    if type(value) is list and value and all(type(item) in (str, list) for item in value):
        return sum(map(_size, value))
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))
