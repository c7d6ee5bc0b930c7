"""W3C Trace Context, level 1: what a client's headers say of its trace, and what we say to the engine.

https://www.w3.org/TR/trace-context/. A traceparent that is none (two of them are none) starts a new trace, and the
tracestate beside it is dropped; a bad tracestate is dropped alone. Pure, bytes and strings only: ids are hex.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

RawHeader = tuple[bytes, bytes]

_SAMPLED: Final = 1
_KNOWN_FLAGS: Final = 3
"""Sampled, and level 2's "random trace id", which stays as it came."""
_TRACEPARENT: Final = re.compile(
    rb"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?"
)
_MEMBER: Final = re.compile(
    r"(?:[a-z][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})"
    r"=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]"
)
_MEMBERS: Final = 32


class Parent(NamedTuple):
    """The client's span. trace_id: 32 hex digits, span_id: 16. state: a valid tracestate, "" for none."""

    trace_id: str
    span_id: str
    flags: int
    state: str

    @property
    def sampled(self) -> bool:
        """Whether the client records its side."""
        return bool(self.flags & _SAMPLED)


def read_parent(headers: Iterable[RawHeader]) -> Parent | None:
    """The parent that a request's headers (lower-case names) tell; None for none, or for one that is none."""
    traceparent: bytes | None = None
    state = b""
    for name, value in headers:
        if name == b"traceparent":
            traceparent = value if traceparent is None else b""  # two of them
        elif name == b"tracestate":
            state = state + b"," + value if state else value
    match = _TRACEPARENT.fullmatch(traceparent) if traceparent else None
    if match is None or (match[1] == b"00" and match[5] is not None):
        return None
    flags = int(match[4], 16) & _KNOWN_FLAGS
    return Parent(match[2].decode(), match[3].decode(), flags, _valid_state(state))


def traceparent(trace_id: str, span_id: str, flags: int) -> RawHeader:
    """The header that makes this span the parent."""
    return b"traceparent", f"00-{trace_id}-{span_id}-{flags:02x}".encode()


def without(headers: Iterable[RawHeader]) -> list[RawHeader]:
    """The headers without those of a trace."""
    return [header for header in headers if header[0] not in (b"traceparent", b"tracestate")]


def _valid_state(raw: bytes) -> str:
    members = [member for each in raw.decode("latin-1").split(",") if (member := each.strip(" \t"))]
    keys = {member.partition("=")[0] for member in members}
    valid = len(keys) == len(members) <= _MEMBERS and all(_MEMBER.fullmatch(member) for member in members)
    return ",".join(members) if valid else ""
