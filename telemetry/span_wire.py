"""Spans as OTLP bytes, written straight into the protobuf wire format.

One idea: the SDK's encoder takes 178 us of CPU for the two spans of a request (1.45.2, 43 attributes), half of what
the gateway spends on all of the request; bytes that come again, most of them, need not be made again, and this takes
16 us. The messages are those of opentelemetry/proto/trace/v1/trace.proto 1.x; tests compare the bytes with the SDK's.
https://protobuf.dev/programming-guides/encoding/
"""

import struct
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

import msgspec

Value = str | bool | int | float | tuple[str, ...]
Attributes = Mapping[str, Value]
SERVER: Final = 2
CLIENT: Final = 3
_LONGEST: Final = 1024
"""Characters of an attribute's text: clients choose some of them."""

_ERROR: Final = b"\x18\x02"  # Status.code
_SAMPLED: Final = 0x101  # the W3C flag, and that is_remote is known
_REMOTE: Final = 0x200
_KNOWN: Final = 1024
_MASK: Final = (1 << 64) - 1


class Shared:
    """Attributes that many spans or events have alike: their bytes are made once. Keep it, and use it again."""

    __slots__ = ("_encoded", "attributes")

    def __init__(self, attributes: Attributes) -> None:
        self.attributes = attributes
        self._encoded: dict[bytes, bytes] = {}

    def encoded(self, tag: bytes) -> bytes:
        """As fields with this tag."""
        known = self._encoded.get(tag)
        if known is None:
            known = self._encoded[tag] = _attributes(tag, self.attributes)
        return known


NOTHING: Final = Shared({})


class Event(msgspec.Struct, frozen=True):
    """Something that happened in a span. at: ns since the epoch. Attributes as a span's."""

    name: str
    at: int
    attributes: Attributes = {}
    shared: Shared = NOTHING


class Span(msgspec.Struct, frozen=True):
    """One finished, sampled span. Ids are hex, parent_id "" in a root; times are ns since the epoch.

    attributes: its own; shared: further ones. remote: its parent is another process's. error: it failed, and why in a
    word; None: it did not.
    """

    name: str
    kind: int
    trace_id: str
    span_id: str
    parent_id: str
    state: str
    start: int
    end: int
    attributes: Attributes
    shared: Shared = NOTHING
    events: tuple[Event, ...] = ()
    error: str | None = None
    remote: bool = False


class Encoder:
    """Makes ExportTraceServiceRequest messages of one resource. scope: name and version of what made the spans."""

    def __init__(self, resource: Attributes, scope: tuple[str, str]) -> None:
        self._resource = _field(b"\x0a", _attributes(b"\x0a", resource))
        name, version = (text.encode() for text in scope)
        self._scope = _field(b"\x0a", _field(b"\x0a", name) + _field(b"\x12", version))

    def message(self, encoded: Iterable[bytes]) -> bytes:
        """One message with all these spans, each as `encode` made it."""
        return _field(b"\x0a", self._resource + _field(b"\x12", self._scope + b"".join(encoded)))


def encode(span: Span) -> bytes:
    """A span, as a field of its scope."""
    return _field(b"\x12", _span(span))


def _span(span: Span) -> bytes:
    parts = [b"\x0a\x10", bytes.fromhex(span.trace_id), b"\x12\x08", bytes.fromhex(span.span_id)]
    if span.state:
        parts.append(_text(b"\x1a", span.state))
    if span.parent_id:
        parts += (b"\x22\x08", bytes.fromhex(span.parent_id))
    parts += (
        _known_text(b"\x2a", span.name),
        _times(0x30, span.kind, 0x39, span.start, 0x41, span.end),
        span.shared.encoded(b"\x4a"),
    )
    _add_attributes(parts, b"\x4a", span.attributes)
    for event in span.events:
        encoded = _event(event)
        parts += (b"\x5a", _varint(len(encoded)), encoded)
    parts.append(b"\x7a\x00" if span.error is None else _field(b"\x7a", _text(b"\x12", span.error) + _ERROR))
    parts.append(_flags(0x0185, _SAMPLED | (_REMOTE if span.remote else 0)))
    return b"".join(parts)


def _event(event: Event) -> bytes:
    parts = [_time(0x09, event.at), _known_text(b"\x12", event.name), event.shared.encoded(b"\x1a")]
    _add_attributes(parts, b"\x1a", event.attributes)
    return b"".join(parts)


def _attributes(tag: bytes, attributes: Attributes) -> bytes:
    parts: list[bytes] = []
    _add_attributes(parts, tag, attributes)
    return b"".join(parts)


def _add_attributes(parts: list[bytes], tag: bytes, attributes: Attributes) -> None:
    """KeyValue messages."""
    for key, value in attributes.items():
        name, encoded = _key(key), _value(value)
        size = len(encoded)
        whole = len(name) + size + 1
        if whole < 0x80:
            parts += (tag, _BYTES[whole], name, _BYTES[size], encoded)
        else:
            parts.append(_field(tag, name + _varint(size) + encoded))


@lru_cache(_KNOWN)
def _key(key: str) -> bytes:
    return _text(b"\x0a", key) + b"\x12"


def _value(value: Value) -> bytes:
    """AnyValue."""
    if isinstance(value, str):
        return _text(b"\x0a", value[:_LONGEST])
    if isinstance(value, int):
        if isinstance(value, bool):
            return b"\x10\x01" if value else b"\x10\x00"
        return b"\x18" + _varint(value if value >= 0 else value & _MASK)
    if isinstance(value, float):
        return _double(0x21, value)
    return _field(b"\x2a", b"".join([_field(b"\x0a", _value(each)) for each in value]))


@lru_cache(_KNOWN)
def _known_text(tag: bytes, text: str) -> bytes:
    return _text(tag, text)


def _text(tag: bytes, text: str) -> bytes:
    return _field(tag, text.encode("utf-8", "replace"))


def _field(tag: bytes, payload: bytes) -> bytes:
    return tag + _varint(len(payload)) + payload


_time: Final = struct.Struct("<BQ").pack
_times: Final = struct.Struct("<BBBQBQ").pack
_flags: Final = struct.Struct("<HI").pack
_double: Final = struct.Struct("<Bd").pack
_BYTES: Final = tuple(bytes((n,)) for n in range(0x80))


def _varint(number: int) -> bytes:
    if number < 0x80:
        return _BYTES[number]
    if number < 0x4000:
        return b"%c%c" % (number & 0x7F | 0x80, number >> 7)
    groups = bytearray()
    while number >= 0x80:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    groups.append(number)
    return bytes(groups)
