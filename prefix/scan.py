"""Where the members of a JSON object or array lie in its bytes.

Everything prefixgate rewrites is spliced by offset into the client's own bytes, so it needs positions, not
values. These functions expect JSON that a parser has accepted; they find the places and bound the depth.
Grammar: RFC 8259.
"""

import json
import re
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from prefix.errors import BodyError

MAX_DEPTH = 128

_ELEMENTS = msgspec.json.Decoder(list[msgspec.Raw])
_BETWEEN = re.compile(rb"[ \t\n\r,]*")
_SPACE = re.compile(rb"[ \t\n\r]*")
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_SCALAR = re.compile(rb"[^ \t\n\r,\]}]+")
_KEY = re.compile(rb'[ \t\n\r]*("[^"\\]*(?:\\.[^"\\]*)*")[ \t\n\r]*:[ \t\n\r]*', re.DOTALL)
_STRETCH = re.compile(rb'(?:[^"\[\]{}]*+"[^"\\]*+(?:\\.[^"\\]*+)*+"){0,64}[^"\[\]{}]*+[\[\]{}]?', re.DOTALL)
"""Some strings and what is between them, up to and with the next bracket."""


class Span(NamedTuple):
    """Bytes start to end (exclusive) of one JSON value."""

    start: int
    end: int


class Member(NamedTuple):
    """One member of an object: its name unescaped, where its key starts, where its value lies."""

    name: str
    key_start: int
    value: Span


def value_end(raw: bytes, start: int, depth: int = 0) -> int:
    """The offset just behind the value that starts at `start` (no leading space).

    depth: how many arrays and objects of the body are around it. Raises BodyError `too_deep` beyond MAX_DEPTH.
    """
    first = raw[start : start + 1]
    if first == b'"':
        return _end(_STRING.match(raw, start), start)
    if first not in b"[{":
        return _end(_SCALAR.match(raw, start), start)
    outside, at = depth, start
    while True:
        stretch = _STRETCH.match(raw, at)
        if stretch is None or stretch.end() == at:
            raise _malformed(at)
        at = stretch.end()
        last = raw[at - 1]
        if last in b"[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise too_deep(at - 1)
        elif last in b"]}":
            depth -= 1
            if depth == outside:
                return at


def members(raw: bytes, start: int) -> list[Member]:
    """The members of the object that starts at `start`, in order, duplicates included."""
    found: list[Member] = []
    at = start + 1
    while True:
        key = _KEY.match(raw, at)
        if key is None:
            return found
        end = value_end(raw, key.end())
        found.append(Member(unescape(key[1]), key.start(1), Span(key.end(), end)))
        at = _end(_SPACE.match(raw, end), end)
        if raw[at : at + 1] != b",":
            return found
        at += 1


def elements(raw: bytes, span: Span) -> list[Span]:
    """The elements of the array at `span`, in order. Their lengths come from msgspec, so depth is not checked."""
    found: list[Span] = []
    at = span.start + 1
    for value in _ELEMENTS.decode(raw[span.start : span.end]):
        start = _end(_BETWEEN.match(raw, at), at)
        at = start + len(bytes(value))
        found.append(Span(start, at))
    return found


def splice(raw: bytes, replacements: Mapping[Span, bytes]) -> bytes:
    """`raw` with each span replaced; all other bytes stay. Spans must not overlap."""
    parts: list[bytes] = []
    at = 0
    for span in sorted(replacements):
        parts += (raw[at : span.start], replacements[span])
        at = span.end
    parts.append(raw[at:])
    return b"".join(parts)


def unescape(literal: bytes) -> str:
    """The text of a JSON string literal, quotes included; lone surrogates stay as they are."""
    if b"\\" in literal:
        return str(json.loads(literal))
    return literal[1:-1].decode()


def too_deep(offset: int) -> BodyError:
    """The refusal for nesting beyond MAX_DEPTH."""
    return BodyError("too_deep", f"arrays and objects nest deeper than {MAX_DEPTH} levels", offset=offset)


def _end(match: re.Match[bytes] | None, at: int) -> int:
    if match is None:
        raise _malformed(at)
    return match.end()


def _malformed(at: int) -> BodyError:
    return BodyError("invalid_json", f"malformed JSON at byte {at}", offset=at)
