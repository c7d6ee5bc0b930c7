"""Asking a stream for its usage, and knowing whether the client did.

One idea: the gateway needs the usage chunk of every stream, so it sets `stream_options.include_usage`, changes
nothing else there, and remembers to hide the chunk from a client that did not ask (case 51; headroom#2026).

`continuous_usage_stats` puts the usage on every chunk, in SGLang 0.5.23 even without include_usage; a client that did
not ask for usage must not see it, so it is turned off then. Engines read booleans as pydantic does ("true", 1, "yes"
count as true); so is it here.
"""

from dataclasses import dataclass

import msgspec

from prefix.scan import Span, members, splice

_ASK = b'"include_usage":true'
_TRUE = frozenset({"true", "1", "1.0", "on", "t", "y", "yes"})
_FALSE = frozenset({"false", "0", "0.0", "off", "f", "n", "no", "null"})


@dataclass(frozen=True, slots=True)
class UsageOption:
    """replacement: the new raw value of `stream_options` (insert the member when the client sent none), or None to
    leave it as it is. hide: withhold the usage chunk from the client."""

    replacement: bytes | None
    hide: bool


AS_IT_IS = UsageOption(None, hide=False)


def usage_option(stream: bytes | None, stream_options: bytes | None) -> UsageOption:
    """What to do about usage, from the raw JSON values of the two top-level members (None: absent).

    Not a stream, or values that the engine will refuse: as it is. Raises nothing for slices of a parsed body.
    """
    if _boolean(stream) is not True:
        return AS_IT_IS
    if stream_options is None or stream_options == b"null":
        return UsageOption(b"{" + _ASK + b"}", hide=True)
    if not stream_options.startswith(b"{"):
        return AS_IT_IS
    spans = {member.name: member.value for member in members(stream_options, 0)}
    asked = _boolean_at(stream_options, spans.get("include_usage"))
    if asked is None or asked:
        return AS_IT_IS
    return UsageOption(_asking(stream_options, spans), hide=True)


def _asking(raw: bytes, spans: dict[str, Span]) -> bytes:
    """The object with include_usage on and continuous_usage_stats off; every other byte stays."""
    edits: dict[Span, bytes] = {}
    if "include_usage" in spans:
        edits[spans["include_usage"]] = b"true"
    else:
        edits[Span(1, 1)] = _ASK + b"," * bool(spans)
    continuous = spans.get("continuous_usage_stats")
    if continuous is not None and _boolean_at(raw, continuous):
        edits[continuous] = b"false"
    return splice(raw, edits)


def _boolean_at(raw: bytes, span: Span | None) -> bool | None:
    """The boolean in a span: False when there is none, None when it is no boolean."""
    return False if span is None else _boolean(raw[span.start : span.end])


def _boolean(raw: bytes | None) -> bool | None:
    """A raw JSON value as pydantic reads a boolean; absent is False, and None what it would refuse."""
    if raw is None:
        return False
    text = str(msgspec.json.decode(raw)) if raw.startswith(b'"') else raw.decode()
    if text.lower() in _TRUE:
        return True
    return False if text.lower() in _FALSE else None
