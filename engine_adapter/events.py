"""Server-sent events as bytes: where one ends, and what it says.

One idea: an event is over when two line ends meet (WHATWG HTML 9.2: LF, CR or CRLF), so a stream can be cut into
whole events with byte searches alone, and bytes are decoded only once an event is whole. Lenient where clients
are: a byte order mark is skipped, and the last event counts without its blank line.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

DONE = b"[DONE]"
BOUNDARIES = (b"\n\n", b"\r\n\r\n", b"\r\r")  # a chunk that ends so ends with a whole event

_BOM = b"\xef\xbb\xbf"
# Possessive, so that the LF of a CRLF is never taken for a line end of its own.
_END = re.compile(rb"(?:\n|\r\n?+)(?:\n|\r\n?+)")
_decode = msgspec.json.Decoder().decode


def last_end(data: bytes | bytearray, start: int = 0) -> int:
    """Offset behind the last whole event that ends after `start`; 0 when none does."""
    if data.find(b"\r", start) < 0:
        return found + 2 if (found := data.rfind(b"\n\n", start)) >= 0 else 0
    return max((match.end() for match in _END.finditer(data, start)), default=0)


def split(data: bytes) -> Iterator[bytes]:
    """The events in `data`, byte-exact with their line ends; the last one may be unfinished."""
    start = 0
    if data.find(b"\r") < 0:
        while (end := data.find(b"\n\n", start)) >= 0:
            yield data[start : end + 2]
            start = end + 2
    else:
        for match in _END.finditer(data):
            yield data[start : match.end()]
            start = match.end()
    if start < len(data):
        yield data[start:]


def with_line_feeds(data: bytes) -> bytes:
    """`data` with every line end written as LF; a CR at the very end stays, its LF may still come."""
    if data.find(b"\r") < 0:
        return data
    cut = len(data) - data.endswith(b"\r")
    return data[:cut].replace(b"\r\n", b"\n").replace(b"\r", b"\n") + data[cut:]


def parse(event: bytes) -> tuple[bytes, bytes]:
    """The name and the data of an event with LF line ends; b"" for what it does not have."""
    if event.startswith(b"data: ") and event.find(b"\n") < 0:
        return b"", event[6:]
    name, data = b"", []
    for line in event.removeprefix(_BOM).split(b"\n"):
        key, _, value = line.partition(b":")
        if key == b"data":
            data.append(value.removeprefix(b" "))
        elif key == b"event":
            name = value.removeprefix(b" ")
    return name, b"\n".join(data)


def decode(data: bytes) -> Any:
    """The JSON value in `data`, or None: what is not JSON (or too deep to be an answer) says nothing."""
    try:
        return _decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None
