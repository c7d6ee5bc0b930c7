"""The message that opens a conversation, when it is long: a system text that comes again with every request.

Its end is found like that of the conversation (prefix.ahead), by jumps from brace to brace, and proved the same way:
a JSON object has one end. So of a conversation with a known opening only the rest is parsed.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from prefix.frame import check_depth
from prefix.pieces import Piece
from prefix.scan import Span

LONG = 2048
"""Bytes from which on it pays to look a message up."""

_FRONT = re.compile(rb'\[\s*+(?=\{\s*+"role"\s*+:\s*+"(?:system|developer)"\s*+,\s*+"content"\s*+:\s*+")')
_NEXT = re.compile(rb'\s*+,\s*+(?=\{\s*+")')
_JUMPS = 32
_decode = msgspec.json.Decoder().decode


class Opening(Piece):
    """One message. raw: its bytes. message: what they parse to."""

    __slots__ = ("message",)

    def __init__(self, raw: bytes, message: Mapping[str, Any]) -> None:
        super().__init__(raw)
        self.message = message


def opening_span(raw: bytes, messages: Span) -> tuple[Span, int] | None:
    """Where the first of these messages lies and where the next begins, if it is system text, long, and not alone.

    The caller proves the end by parsing the span.
    """
    front = _FRONT.match(raw, messages.start)
    if front is None:
        return None
    end = front.end()
    for _ in range(_JUMPS):
        end = raw.find(b"}", end, messages.end) + 1
        if not end:
            return None
        following = _NEXT.match(raw, end)
        if following is not None:
            return (Span(front.end(), end), following.end()) if end - front.end() >= LONG else None
    return None


def read_opening(raw: bytes) -> Opening | None:
    """An opening, or None when these bytes are no message. Raises BodyError `too_deep`."""
    try:
        message = _decode(raw)
    except msgspec.DecodeError:
        return None
    check_depth([message], 0)
    return Opening(raw, message) if type(message) is dict else None
