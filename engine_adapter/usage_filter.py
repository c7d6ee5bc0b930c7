"""Keeps a usage chunk that the client did not ask for out of its stream.

One idea: only a whole event can be judged, so bytes wait in here until their event is over, and an event is
withheld exactly when it is usage and nothing else (`choices` empty, `usage` an object, no error). Every other
byte passes unchanged, and the bytes that pass do not depend on where the stream was cut (cases 45 and 51).

Most events are never parsed: without the bytes `usage"`, or with null behind them, there is nothing to judge.
(JSON would allow escapes in that key; no serializer writes them for ASCII letters.) Line ends and a byte order
mark in front of an event belong to nobody and pass.
"""

import re
from collections.abc import Iterator

from engine_adapter import events

EVENT_BYTES = 1 << 20  # a longer event passes unseen

_KEY = b'usage"'
_KEY_IN_USE = re.compile(rb'usage"(?!\s*:\s*null)')
_IN_FRONT = b"\r\n\xef\xbb\xbf"
_END_BYTES = 3  # of an event's end, that may already be here without its last byte


class UsageFilter:
    """Sans-IO: `feed` returns what may go on to the client now, `close` what is left at the end of the stream."""

    __slots__ = ("_held", "_oversize")

    def __init__(self) -> None:
        self._held = bytearray()
        self._oversize = False  # the held bytes continue an event that already passed

    def feed(self, chunk: bytes) -> bytes:
        held = self._held
        if not held and chunk.endswith(events.BOUNDARIES) and (chunk.find(_KEY) < 0 or not _may_be_usage(chunk)):
            return chunk
        start = max(len(held) - _END_BYTES, 0)
        held += chunk
        end = events.last_end(held, start)
        if not end:
            return self._give_up() if self._oversize or _too_long(held) else b""
        whole = bytes(held[:end])
        del held[:end]
        if self._oversize or _may_be_usage(whole):
            whole = b"".join(self._passing(whole))
        return whole + self._give_up() if _too_long(held) else whole

    def close(self) -> bytes:
        rest = bytes(self._held)
        self._held.clear()
        return _without_usage(rest)

    def _passing(self, whole: bytes) -> Iterator[bytes]:
        for event in events.split(whole):
            passing = event if self._oversize or _too_long(event) else _without_usage(event)
            self._oversize = False
            yield passing
        if not self._held and event.endswith(b"\r"):
            self._held += event[len(passing) :]  # withheld, and the LF of its last CR may still come

    def _give_up(self) -> bytes:
        """Everything held but what may be the start of the event's end."""
        self._oversize = True
        passing = bytes(self._held[:-_END_BYTES])
        del self._held[:-_END_BYTES]
        return passing


def _too_long(event: bytes | bytearray) -> bool:
    """Measured without line ends, of which a cut can leave one more or less."""
    return len(event) > EVENT_BYTES and len(event.strip(b"\r\n")) > EVENT_BYTES


def _may_be_usage(data: bytes) -> bool:
    at = data.find(_KEY)
    return at >= 0 and _KEY_IN_USE.search(data, at) is not None


def _without_usage(event: bytes) -> bytes:
    """The event, or only what is in front of it when it is nothing but usage."""
    if not _may_be_usage(event):
        return event
    own = event.lstrip(_IN_FRONT)
    payload = events.decode(events.parse(events.with_line_feeds(own))[1])
    if not isinstance(payload, dict) or payload.get("choices") or payload.get("error"):
        return event
    if not isinstance(payload.get("usage"), dict):
        return event
    return event[: len(event) - len(own)]
