"""The automatic prompt version: a short name for what the operator wrote, the same on every replica.

A hash of the canonical tools and of the system text that leads the conversation, with what moves masked
(prefix.volatile). So a clock, a session id or another order of the tools is the same version, white space and escapes
on the wire do not matter, and any other byte makes a new one. Popularity has no part in it: replicas see different
traffic and must agree. How versions become labels: docs/prompt-versions.md.

It runs on every request, so versions are kept by hash of what they are made from; masking costs time only once.
"""

import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

import msgspec
import xxhash

from prefix.body import Body
from prefix.opening import Opening
from prefix.place import Path
from prefix.scan import Span, elements, value_end
from prefix.system import SYSTEM_ROLES, turns
from prefix.volatile import mask

LENGTH = 10
"""Hex digits of a version: 40 bits, enough to keep thousands of versions of a route apart."""

_TEXT_TYPES = ("text", "input_text")
_ROLE_SEED = {role: place + 1 for place, role in enumerate(SYSTEM_ROLES)}
_TOOL_SEED = len(SYSTEM_ROLES) + 1
_MARK = "cache_control"
_SHORT = 128
_FRONT = {"messages": "system", "input": "instructions"}
_encode = msgspec.json.Encoder().encode
_hash = xxhash.xxh3_64_intdigest
_digest = xxhash.xxh3_128_digest
_hexadecimal = xxhash.xxh3_64_hexdigest
T = TypeVar("T")


class PromptVersions:
    """Makes versions, and keeps what their pieces (each tool, each message) come to by hash of the pieces' bytes.

    By piece, because a clock in one message makes a new prompt every second. Bounded, least recently used out first.
    """

    __slots__ = ("_digests", "_limit")

    def __init__(self, limit: int = 4096) -> None:
        self._digests: OrderedDict[int, bytes] = OrderedDict()
        self._limit = limit

    def version(self, body: Body, tools: bytes | None) -> str | None:
        """The version of a parsed body, None when it has neither tools nor system text.

        tools: the canonical bytes of `tools` or `functions` (prefix.canonical), None when there are none. Raises
        BodyError `too_deep`.
        """
        leading = leading_system(body)
        pieces = [] if tools is None else [self._known(_hash(tools), self._tools_digest, tools)]
        if body.opening is not None and leading and leading[0][1] is body.opening.message:
            pieces.append(body.opening.once(_opening_digest))
            del leading[0]
        pieces += [self._known(_key(message), _system_digest, message) for _, message in leading]
        joined = b"".join(pieces)
        return _hexadecimal(joined)[:LENGTH] if joined else None

    def _tools_digest(self, raw: bytes) -> bytes:
        """What canonical tools come to: 16 bytes, none for no tools. By tool: requests gather them in many sets."""
        if not raw.startswith(b"["):
            return b""
        try:
            tools = [raw[tool.start : tool.end] for tool in elements(raw, Span(0, len(raw)))]
        except msgspec.DecodeError:  # no strict JSON, which some engine may take: one piece
            return _tool_digest(raw)
        return (
            _digest(b"".join([self._known(_hash(tool, _TOOL_SEED), _tool_digest, tool) for tool in tools]))
            if tools
            else b""
        )

    def _known(self, key: int, digest: Callable[[T], bytes], piece: T) -> bytes:
        known = self._digests.get(key)
        if known is not None:
            self._digests.move_to_end(key)
            return known
        made = self._digests[key] = digest(piece)
        if len(self._digests) > self._limit:
            self._digests.popitem(last=False)
        return made


def leading_system(body: Body) -> list[tuple[Path, Mapping[str, Any]]]:
    """The system text ahead of the conversation as messages, with their paths; what is malformed ends it."""
    key, items = turns(body)
    front = _FRONT.get(key)
    found: list[tuple[Path, Mapping[str, Any]]] = []
    if front is not None and front in body:
        found.append(((front,), {"role": "system", "content": body.value(front)}))
    for place, item in enumerate(items):
        if type(item) is not dict or item.get("role") not in SYSTEM_ROLES:
            break
        found.append(((key, place), item))
    return found


def _tool_digest(raw: bytes) -> bytes:
    """What one canonical tool comes to: 16 bytes. Raises BodyError `too_deep`."""
    value_end(raw, 0, depth=2)
    return _digest(_bytes(_tool(json.loads(raw))))


def _opening_digest(opening: Opening) -> bytes:
    return _system_digest(opening.message)


def _system_digest(message: Mapping[str, Any]) -> bytes:
    """What a message of system text comes to: 16 bytes, none when it says nothing.

    A text is the same as the list of it; `cache_control` marks are no text; any other field counts.
    """
    content = message.get("content")
    parts = [_part(part) for part in (content if type(content) is list else [content])]
    if not any(parts):
        return b""
    others = {key: message[key] for key in sorted(message) if key not in ("role", "content", _MARK)}
    return _digest(_bytes([message["role"], parts, others]))


def _key(message: Mapping[str, Any]) -> int:
    """Equal for equal bytes. The common message, a role and a string, is hashed without being written as JSON."""
    content = message.get("content")
    if type(content) is str and len(message) == 2 and content.isascii():
        return _hash(content.encode(), _ROLE_SEED[message["role"]])
    return _hash(_bytes(message))


def _tool(tool: Any) -> Any:
    """The order of a tool's declared fields is the wire's; inside its schema order may mean something."""
    if type(tool) is not dict:
        return _masked(tool)
    inner = tool.get("function")
    fields = {key: _masked(tool[key]) for key in sorted(tool) if key != _MARK}
    if type(inner) is dict:
        fields["function"] = {key: _masked(inner[key]) for key in sorted(inner)}
    return fields


def _part(part: Any) -> Any:
    if type(part) is not dict:
        return _masked(part)
    fields = {key: part[key] for key in sorted(part) if key != _MARK}
    if fields.keys() == {"type", "text"} and fields["type"] in _TEXT_TYPES:
        return _masked(fields["text"])
    return _masked(fields)


@lru_cache(maxsize=8192)
def _mask_short(text: str) -> str:
    """Tools are made of the same few short texts: types, field names, phrases."""
    return mask(text)


def _masked(value: Any) -> Any:
    if type(value) is str:
        return _mask_short(value) if len(value) <= _SHORT else mask(value)
    if type(value) is list:
        return [_masked(item) for item in value]
    return {key: _masked(inner) for key, inner in value.items()} if type(value) is dict else value


def _bytes(value: Any) -> bytes:
    try:
        return _encode(value)
    except (UnicodeEncodeError, OverflowError):  # lone surrogates, big integers
        return json.dumps(value, separators=(",", ":")).encode()
