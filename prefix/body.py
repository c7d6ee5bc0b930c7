"""A request body as its top-level members: names, and the bytes of each value as the client wrote them.

msgspec splits the object in C and keeps every value as a raw slice. It silently keeps the last of duplicate
keys and lets invalid UTF-8 and deep nesting pass, so those three are checked here. What Python's `json` accepts
and msgspec does not (NaN, Infinity, lone surrogates) some engine may accept too: such a body is `opaque`, it can
be read and forwarded but is never rewritten.
"""

import json
import re
from typing import Any

import msgspec

from prefix.errors import BodyError
from prefix.scan import MAX_DEPTH, Span, members, too_deep, value_end

CONTROL_KEYS = frozenset(
    "model messages prompt text input_ids input instructions system tools functions tool_choice function_call "
    "stream stream_options n max_tokens max_completion_tokens max_output_tokens sampling_params user metadata "
    "safety_identifier prompt_cache_key cache_salt extra_key lora_path chat_template_kwargs reasoning_effort rid "
    "priority routed_dp_rank custom_logit_processor session_id session_params previous_response_id "
    "conversation reasoning thinking bootstrap_host bootstrap_port bootstrap_room".split()
)
"""Top-level keys the gateway reads or writes: a duplicate of one of these is refused (two readers, two truths)."""

_CHECKED_LATER = frozenset(("messages", "tools", "functions"))
"""Members whose depth is checked where they are parsed: once per distinct tools array, not once per request."""

_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_VALUE = msgspec.json.Decoder()
_KEY = re.compile(rb'[ \t\n\r]*("[^"\\]*(?:\\.[^"\\]*)*")[ \t\n\r]*:[ \t\n\r]*', re.DOTALL)
_AFTER = re.compile(rb"[ \t\n\r]*[,}]")


class Body:
    """A JSON object as raw top-level slices.

    raw: the client's bytes. spans: member name (unescaped) -> Span of its value in `raw`; of duplicates the last.
    opaque: why the body must not be rewritten ("not_strict_json"), or None.
    """

    __slots__ = ("_values", "opaque", "raw", "spans")

    def __init__(self, raw: bytes, spans: dict[str, Span], opaque: str | None) -> None:
        self.raw = raw
        self.spans = spans
        self.opaque = opaque
        self._values: dict[str, Any] = {}

    def slice(self, name: str) -> bytes | None:
        """The raw bytes of a member's value, or None when there is no such member."""
        span = self.spans.get(name)
        return None if span is None else self.raw[span.start : span.end]

    def value(self, name: str) -> Any:
        """The parsed value of a member (None when absent), parsed once.

        Integers of more than 64 bits come as Python ints, other numbers as floats; nothing is written back
        from these values.
        """
        if name not in self._values:
            self._values[name] = self._parse(name)
        return self._values[name]

    def _parse(self, name: str) -> Any:
        span = self.spans.get(name)
        if span is None:
            return None
        try:
            value = self._decode(memoryview(self.raw)[span.start : span.end])
        except ValueError:  # Python reads integers of up to 4,300 digits
            message = f"a number in {name!r} has more digits than can be read"
            raise BodyError("invalid_type", message, pointer=f"/{name}", offset=span.start) from None
        if type(value) in (dict, list):
            _check_depth(value, span.start)
        return value

    def _decode(self, raw: memoryview) -> Any:
        if self.opaque is None:
            try:
                return _VALUE.decode(raw)
            except msgspec.DecodeError:  # an exponent no double can hold: JSON all the same
                pass
        return json.loads(bytes(raw))


def parse_body(raw: bytes) -> Body:
    """Split a request body into its top-level members.

    Raises BodyError: `invalid_utf8`, `invalid_json`, `not_an_object`, `too_deep`, `duplicate_key` (of a control
    key), each with the byte offset where it is known.
    """
    if not raw.isascii():
        _check_utf8(raw)
    try:
        decoded = _MEMBERS.decode(raw)
    except msgspec.ValidationError:
        raise _not_an_object() from None
    except RecursionError:
        value_end(raw, len(raw) - len(raw.lstrip(b" \t\n\r")))
        raise too_deep(0) from None
    except msgspec.DecodeError:
        return _lenient(raw)
    spans = _walk(raw, decoded)
    return Body(raw, spans, None) if spans is not None else _with_duplicates(raw, None)


def _walk(raw: bytes, decoded: dict[str, msgspec.Raw]) -> dict[str, Span] | None:
    """The spans of the members, or None when a key occurs twice (then the lengths do not fit)."""
    spans: dict[str, Span] = {}
    at = raw.index(b"{") + 1
    while (key := _KEY.match(raw, at)) is not None:
        literal = key[1]
        name = json.loads(literal) if b"\\" in literal else literal[1:-1].decode()
        value = memoryview(decoded[name])  # a view: copying what is long costs more than reading it
        start = key.end()
        end = start + value.nbytes
        after = _AFTER.match(raw, end)
        if name in spans or after is None or not raw.startswith(value, start):
            return None
        if value.nbytes > 2 * MAX_DEPTH and name not in _CHECKED_LATER and raw[start] in b"[{":
            value_end(raw, start, depth=1)
        spans[name] = Span(start, end)
        at = after.end()
    return spans


def _with_duplicates(raw: bytes, opaque: str | None) -> Body:
    spans: dict[str, Span] = {}
    for member in members(raw, raw.index(b"{")):
        if member.name in spans and member.name in CONTROL_KEYS:
            raise BodyError(
                "duplicate_key",
                f"the key {member.name!r} occurs twice: send it once",
                pointer=f"/{member.name}",
                offset=member.key_start,
            )
        spans[member.name] = member.value
    return Body(raw, spans, opaque)


def _lenient(raw: bytes) -> Body:
    """A body msgspec refused: opaque if `json` takes it, else the refusal with its offset."""
    text = raw.decode()
    try:
        accepted = json.loads(text)
    except json.JSONDecodeError as error:
        offset = len(text[: error.pos].encode())
        raise BodyError(
            "invalid_json", f"the body is not JSON: {error.msg} at byte {offset}", offset=offset
        ) from None
    except RecursionError:
        raise too_deep(0) from None
    except ValueError:
        raise BodyError("invalid_json", "a number has more digits than can be read") from None
    if not isinstance(accepted, dict):
        raise _not_an_object()
    _check_depth(accepted, 0)
    return _with_duplicates(raw, "not_strict_json")


def _not_an_object() -> BodyError:
    return BodyError("not_an_object", "the body must be a JSON object", offset=0)


def _check_utf8(raw: bytes) -> None:
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        raise BodyError("invalid_utf8", f"the body is not UTF-8 at byte {error.start}", offset=error.start) from None


def _check_depth(value: Any, offset: int) -> None:
    """Level by level, so that the check itself cannot overflow the stack."""
    level, depth = [value], 1
    while level:
        depth += 1  # the body itself is the first level
        if depth > MAX_DEPTH:
            raise too_deep(offset)
        deeper: list[Any] = []
        for container in level:
            children = container.values() if type(container) is dict else container
            deeper += [child for child in children if type(child) in (dict, list)]
        level = deeper
