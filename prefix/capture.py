"""One line of a capture: a request as it was sent, and how it went. JSON Lines, documented in docs/captures.md.

The body stands under `request`, byte for byte or redacted; beside it what a linter asks of a log and what a replay
needs. `v` is the version of the form: it grows when a reader of the old form would be wrong about the new one.
"""

from collections.abc import Callable
from typing import Annotated, Any

import msgspec

from prefix.errors import TraceError
from prefix.record import RequestRecord, UncachedReason
from prefix.redaction import Form, Redact, redacted

VERSION = 1
_LONGEST = 256
_encode = msgspec.json.Encoder().encode
_decode_body = msgspec.json.Decoder().decode
_LINE_ENDS = bytes.maketrans(b"\r\n", b"  ")


class Capture(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line. Times are seconds (`started` since the Unix epoch), None is unknown; fields as in RequestRecord.

    redact: what was done to the body, and then to customer and session too. request: the body, raw JSON. session:
    which conversation, as the client or its headers say.
    """

    v: Annotated[int, msgspec.Meta(ge=1, le=VERSION)]
    request_id: str
    started: float
    path: str
    route: str
    customer: str
    model: str
    status: int
    outcome: str
    stream: bool
    duration_s: float
    redact: Redact
    request: msgspec.Raw
    session: str | None = None
    prompt_version: str | None = None
    worker: str | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    ttft_s: float | None = None
    queued_s: float = 0.0
    uncached_by_reason: dict[UncachedReason, int] | None = None

    def body(self) -> Any:
        """The parsed request."""
        return _decode_body(self.request)


_LINES = msgspec.json.Decoder(Capture)


def line_of(record: RequestRecord, session: str | None, raw: bytes, redact: Redact, form: Form) -> bytes:
    """The line, without its end. raw: the body that the client sent, a JSON object in UTF-8.

    Raises TraceError when a body that is to be redacted cannot be read.
    """
    label: Callable[[str], str] = _short if redact == "none" else form.label
    body = raw.translate(_LINE_ENDS) if redact == "none" else _redacted(raw, form)
    capture = Capture(
        v=VERSION,
        request_id=record.request_id,
        started=round(record.started, 6),
        path=record.path,
        route=record.route,
        customer=label(record.customer),
        model=_short(record.model),
        status=record.status,
        outcome=record.outcome,
        stream=record.stream,
        duration_s=round(record.duration_s, 6),
        redact=redact,
        request=msgspec.Raw(body.strip()),
        session=None if session is None else label(session),
        prompt_version=None if record.prompt_version is None else _short(record.prompt_version),
        worker=record.worker,
        input_tokens=record.input_tokens,
        cached_tokens=record.cached_tokens,
        output_tokens=record.output_tokens,
        ttft_s=None if record.ttft_s is None else round(record.ttft_s, 6),
        queued_s=round(record.queued_s, 6),
        uncached_by_reason=record.uncached_by_reason,
    )
    return _encode(capture)


def parse_line(line: bytes, where: str) -> Capture:
    """The capture in a line. where: `file:line`, for messages. Raises TraceError.

    A body that not every reader of JSON takes (NaN, lone surrogates) is not taken here either.
    """
    try:
        return _LINES.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise TraceError(f"{where}: not a line of a capture: {error}") from None


def _redacted(raw: bytes, form: Form) -> bytes:
    """What only some engines read as JSON (NaN, lone surrogates) is not captured: no writer of it is a strict one."""
    try:
        return _encode(redacted(_decode_body(raw), form))
    except (msgspec.DecodeError, UnicodeError, RecursionError, OverflowError) as error:
        raise TraceError(f"a body cannot be redacted: {error}") from None


def _short(text: str) -> str:
    return text[:_LONGEST]
