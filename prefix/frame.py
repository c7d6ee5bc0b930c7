"""The members of a JSON object: names, the bytes of each value as the client wrote them, and what they parse to.

msgspec splits the object in C and keeps every value as a raw slice. It silently keeps the last of duplicate keys and
lets invalid UTF-8 and deep nesting pass, so those three are checked here.

A client sends the same model, parameters and tools with every conversation. So a chat body is split with its messages
cut out (prefix.body), and what is left, its frame, is a piece that is kept (prefix.pieces).
"""

import json
import re
from typing import Any

import msgspec

from prefix.errors import BodyError
from prefix.pieces import Piece
from prefix.scan import MAX_DEPTH, Span, too_deep, value_end

_CHECKED_LATER = frozenset(("messages", "tools", "functions"))
"""Members whose depth is checked where they are parsed: once per distinct tools array, not once per request."""

_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_VALUE = msgspec.json.Decoder()
_KEY = re.compile(
    rb'\s*+[{,]\s*+"[^"\\]*+(?:\\.[^"\\]*+)*+"\s*+:\s*+(?:("[^"\\]{0,64}+"|[-+.\w]{1,32}+)(?=\s*+[,}]))?', re.DOTALL
)
"""A key, and its value when that is short and simple."""
_LAST = re.compile(rb"\s*+\}\s*+\Z")
_UNREAD = object()


class Frame(Piece):
    """The members of one object.

    raw: its bytes. spans: member name (unescaped) -> Span of its value in `raw`; of duplicates the last. opaque: why
    the body must not be rewritten ("not_strict_json"), or None.
    """

    __slots__ = ("_values", "opaque", "spans")

    def __init__(self, raw: bytes, spans: dict[str, Span], opaque: str | None) -> None:
        super().__init__(raw)
        self.spans = spans
        self.opaque = opaque
        self._values: dict[str, Any] = {}

    def __contains__(self, name: str) -> bool:
        return name in self.spans

    def slice(self, name: str) -> bytes | None:
        """The raw bytes of a member's value, or None when there is no such member."""
        span = self.spans.get(name)
        return None if span is None else self.raw[span.start : span.end]

    def value(self, name: str) -> Any:
        """The parsed value of a member (None when absent), parsed once.

        Integers of more than 64 bits come as Python ints, other numbers as floats; nothing is written back
        from these values. Raises BodyError for what nests too deep or has too many digits.
        """
        known = self._values.get(name, _UNREAD)
        if known is _UNREAD:
            known = self._values[name] = self._parse(name)
        return known

    def _parse(self, name: str) -> Any:
        span = self.spans.get(name)
        if span is None:
            return None
        try:
            value = self._decode(memoryview(self.raw)[span.start : span.end])
        except ValueError:  # Python reads integers of up to 4,300 digits
            message = f"a number in {name!r} has more digits than can be read"
            raise BodyError("invalid_type", message, pointer=f"/{name}", offset=span.start) from None
        check_depth(value, span.start)
        return value

    def _decode(self, raw: memoryview) -> Any:
        if self.opaque is None:
            try:
                return _VALUE.decode(raw)
            except msgspec.DecodeError:  # an exponent no double can hold: JSON all the same
                pass
        return json.loads(bytes(raw))


def split_members(raw: bytes) -> Frame | None:
    """The members of a JSON object, None when a key occurs twice.

    Raises UnicodeDecodeError, msgspec.DecodeError for what is not strict JSON, msgspec.ValidationError for what is no
    object, RecursionError and BodyError `too_deep` for what nests too deep.
    """
    if not raw.isascii():
        raw.decode()
    spans = _walk(raw, _MEMBERS.decode(raw))
    return None if spans is None else Frame(raw, spans, None)


def _walk(raw: bytes, decoded: dict[str, msgspec.Raw]) -> dict[str, Span] | None:
    """The spans of the members, or None when a key occurs twice.

    No two JSON values begin alike and end in different places. So as long as each member stands where the one before
    it ends, these are the members in the order of the wire; and if they are all, the object ends behind the last.
    """
    spans: dict[str, Span] = {}
    at = raw.index(b"{")
    if not decoded:
        return spans
    for name, value in decoded.items():
        key = _KEY.match(raw, at)
        if key is None:
            return None
        start, at = key.span(1)
        if start < 0:
            start = key.end()
            if not raw.startswith(value, start):
                return None
            at = start + len(memoryview(value))
            if at - start > 2 * MAX_DEPTH and name not in _CHECKED_LATER and raw[start] in b"[{":
                value_end(raw, start, depth=1)
        spans[name] = Span(start, at)
    return spans if _LAST.match(raw, at) is not None else None


def check_depth(value: Any, offset: int) -> None:
    """Refuse a member's value that nests deeper than MAX_DEPTH, the body itself counted.

    Level by level, so that the check itself cannot overflow the stack. Raises BodyError `too_deep` at `offset`.
    """
    level = [value] if type(value) is dict or type(value) is list else []
    depth = 1
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise too_deep(offset)
        level = [
            child
            for container in level
            for child in (container.values() if type(container) is dict else container)
            if type(child) is dict or type(child) is list
        ]
