"""One request as a log has it: its body, and what else the log knows of it, under whatever names.

Times, token counts, worker and session are used when they are there and never made up: None is unknown.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from engine_adapter.usage import parse_usage
from prefix.errors import UsageError

_TIMES: Final = (
    *("started", "startTime", "start_time", "timestamp", "ts", "time", "@timestamp", "request_created_at"),
    *("created_at", "createdAt", "requestedAt", "startTimeUnixNano", "timeUnixNano"),
)
_WORKERS: Final = ("worker", "replica", "api_base", "server.address")
_SESSIONS: Final = ("session", "session_id", "sessionId", "conversation_id", "gen_ai.conversation.id")
_USAGES: Final = ("usage", "response", "response_body", "usage_object", "input_tokens", "prompt_tokens")
_KNOWN: Final = frozenset((*_TIMES, *_WORKERS, *_SESSIONS, *_USAGES))
_UNITS: Final = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))
"""Numbers from here on are nano-, micro- and milliseconds since 1970: seconds will have eleven digits in 5138."""

_LATEST: Final = 1e20


class Logged(NamedTuple):
    """body: parsed. at: seconds since the Unix epoch, or since the log began. input_tokens: with the cached ones.
    entry: the outermost envelope, None for a body alone."""

    body: dict[str, Any]
    at: float | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    worker: str | None = None
    session: str | None = None
    entry: Mapping[str, Any] | None = None


def logged(body: dict[str, Any], *envelopes: Mapping[str, Any]) -> Logged:
    """A body and what its envelopes say of the request, the outermost first."""
    said = [envelope for envelope in envelopes if not _KNOWN.isdisjoint(envelope)]
    if not said:
        return Logged(body, entry=envelopes[0] if envelopes else None)
    tokens = next(filter(None, map(_tokens, said)), (None, None))
    at = next((at for envelope in said if (at := _time(envelope)) is not None), None)
    return Logged(body, at, *tokens, _text(said, _WORKERS), _text(said, _SESSIONS), envelopes[0])


def tokens_of(usage: Mapping[str, Any]) -> tuple[int | None, int | None] | None:
    """Input and cached tokens of a usage object, or of a response; None when it says nothing."""
    try:
        found = parse_usage(usage)
    except UsageError:
        return None
    return None if found.input_total is None else (found.input_total, found.cached_read)


def seconds(value: Any) -> float | None:
    """A time as logs write them: ISO 8601 (without a zone it is UTC), or a number of s, ms, us or ns."""
    if isinstance(value, str):
        try:
            return (
                _epoch(float(value)) if value[:1].isdigit() and value.replace(".", "", 1).isdigit() else _iso(value)
            )
        except ValueError:
            return None
    return _epoch(float(value)) if type(value) in (int, float) else None


def _epoch(number: float) -> float | None:
    if number > _LATEST:
        return None
    for least, unit in _UNITS:
        if number >= least:
            return number / unit
    return number if number >= 0 else None  # no time is NaN


def _iso(text: str) -> float:
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _time(envelope: Mapping[str, Any]) -> float | None:
    return next((at for name in _TIMES if (at := seconds(envelope.get(name))) is not None), None)


def _tokens(envelope: Mapping[str, Any]) -> tuple[int | None, int | None] | None:
    if not any(name in envelope for name in _USAGES):
        return None
    response = envelope.get("response_body")
    return tokens_of(response if "usage" not in envelope and isinstance(response, Mapping) else envelope)


def _text(envelopes: Iterable[Mapping[str, Any]], names: Iterable[str]) -> str | None:
    for envelope in envelopes:
        for name in names:
            value = envelope.get(name)
            if isinstance(value, (str, int)) and value != "":
                return str(value)
    return None
