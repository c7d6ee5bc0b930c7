"""One request as a log has it: its body, and what else the log knows of it, under whatever names.

One idea: names. Logs of gateways, proxies and tracing tools tell the same few things under other names, so each thing
is a list of names, looked for in the entry and in what it wraps. What is not there is None, which is not zero: a rule
that needs it is silent, it never guesses. An answer is kept as it was logged; lint.traffic.answers reads it for who
asks. The dialects of usage are engine_adapter.usage's.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from engine_adapter.usage import parse_usage
from prefix.errors import UsageError

_NAMES: Final = {
    "started": (
        *("started", "startTime", "start_time", "timestamp", "ts", "time", "@timestamp", "request_created_at"),
        *("created_at", "createdAt", "requestedAt", "request_time", "datetime", "startTimeUnixNano", "timeUnixNano"),
        "observedTimeUnixNano",
    ),
    "first": ("completion_start_time", "completionStartTime", "first_token_time"),
    "until_first": ("ttft_s", "ttft"),
    "ended": ("ended", "end_time", "endTime", "finished_at", "completed_at", "endTimeUnixNano"),
    "took": ("duration_s",),
    "worker": (
        *("worker", "worker_url", "worker_id", "replica", "backend", "upstream", "server", "instance", "node"),
        *("dp_rank", "api_base", "server.address"),
    ),
    "session": ("session", "session_id", "sessionId", "conversation_id", "gen_ai.conversation.id"),
}
"""What each thing is called, the likeliest name first."""
_ANSWERS: Final = ("response", "output", "completion", "result", "response_body", "response_obj", "outputs")
_INSIDE: Final = ("request", "metadata", "record", "kwargs", "response", "output", "body", "usage")
_USAGES: Final = frozenset(
    (
        *("usage", "usage_object", "usageMetadata", "meta_info", "response", "message", "cached_tokens"),
        *("input_tokens", "prompt_tokens", "cache_read_input_tokens", "prompt_cache_hit_tokens"),
    )
)
_THING: Final = {name: thing for thing, names in _NAMES.items() for name in names}
_RANK: Final = {name: rank for rank, name in enumerate(_THING)}
KNOWN: Final = frozenset((*_THING, *_ANSWERS, *_INSIDE, *_USAGES))
"""Members by which a log says something."""
_UNITS: Final = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))
"""Numbers from here on are nano-, micro- and milliseconds since 1970: seconds will have eleven digits in 5138."""
_LATEST: Final = 1e20


class Logged(NamedTuple):
    """A request; None is unknown.

    body: parsed. started, first, ended: seconds since the Unix epoch, or since the log began; first: when the answer
    began. input_tokens: of the prompt, with the cached ones. worker: who served it. answer: the response as logged.
    """

    body: dict[str, Any]
    started: float | None = None
    first: float | None = None
    ended: float | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    worker: str | None = None
    session: str | None = None
    answer: Any = None

    def without_texts(self) -> "Logged":
        """What can be kept of many requests."""
        return self._replace(body={}, answer=None)


def told(logged: Logged) -> frozenset[str]:
    """What of it is known, as rules ask for it."""
    known = {
        "answers": logged.answer is not None,
        "reported cached tokens": logged.cached_tokens is not None,
        "times": logged.started is not None,
        "workers": logged.worker is not None,
    }
    return frozenset(name for name, is_known in known.items() if is_known)


def logged(body: dict[str, Any], *envelopes: Mapping[str, Any]) -> Logged:
    """A body and what its envelopes say of the request, the outermost first. A body that is one itself may have such
    members beside its own, but none of its objects says more."""
    places = [place for place in _places(body, envelopes) if not KNOWN.isdisjoint(place)]
    if not places:
        return Logged(body)
    said = _said(places)
    started, first, ended = (_first(seconds, said.get(name, ())) for name in ("started", "first", "ended"))
    if started is not None:
        until, took = (_first(_number, said.get(name, ())) for name in ("until_first", "took"))
        first = first if first is not None or until is None else started + until
        ended = ended if ended is not None or took is None else started + took
    worker, session = (_first(_text, said.get(name, ())) for name in ("worker", "session"))
    answer = _answer(envelopes)
    sent, cached = _first(tokens_of, (answer, *places)) or (None, None)
    return Logged(body, started, first, ended, sent, cached, worker, session, answer)


def tokens_of(usage: Any) -> tuple[int | None, int | None] | None:
    """Input and cached tokens of a usage object, or of a response; None when it says nothing."""
    if not isinstance(usage, dict) or _USAGES.isdisjoint(usage):
        return None
    try:
        found = parse_usage(usage)
    except UsageError:
        return None
    known = found.input_total is not None or found.cached_read is not None
    return (found.input_total, found.cached_read) if known else None


def seconds(value: Any) -> float | None:
    """A time as logs write them: ISO 8601 (without a zone it is UTC), or a number of s, ms, us or ns."""
    if isinstance(value, str):
        is_number = value[:1].isdigit() and value.replace(".", "", 1).isdigit()
        try:
            return _epoch(float(value)) if is_number else _iso(value)
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


def _places(body: Mapping[str, Any], envelopes: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The envelopes, the objects in them that are no request body, and the body."""
    for envelope in envelopes:
        if envelope is body:
            continue
        yield envelope
        for name in _INSIDE:
            inner = envelope.get(name)
            if isinstance(inner, dict) and inner is not body:
                yield inner
                nested = inner.get("body")
                if name == "response" and isinstance(nested, dict):
                    yield nested
    yield body


def _said(places: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """What is said of each thing, the likeliest first."""
    said: dict[str, list[Any]] = {}
    for place in places:
        for name in sorted(filter(_THING.__contains__, place), key=_RANK.__getitem__):
            said.setdefault(_THING[name], []).append(place[name])
    return said


def _first(read: Any, values: Iterable[Any]) -> Any:
    """The first of them that can be read."""
    return next((found for value in values if (found := read(value)) is not None), None)


def _answer(envelopes: Iterable[Mapping[str, Any]]) -> Any:
    values = (envelope[name] for envelope in envelopes for name in _ANSWERS if envelope.get(name) is not None)
    answer = next(values, None)
    return answer.get("body", answer) if isinstance(answer, dict) else answer


def _number(value: Any) -> float | None:
    return float(value) if type(value) in (int, float) else None


def _text(value: Any) -> str | None:
    return str(value) if isinstance(value, (str, int)) and value != "" else None
