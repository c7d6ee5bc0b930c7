"""What a log says of a request beside its body: the answer, the tokens found cached, the times, the worker.

One idea: names. Logs of gateways, proxies and tracing tools tell the same few things under other names, so each thing
is a list of names, looked for in the entry and in what it wraps. What is not there is None, which is not zero: a rule
that needs it is silent, it never guesses. The dialects of usage are engine_adapter.usage's.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from engine_adapter.usage import parse_usage
from prefix.errors import UsageError

_ANSWERS: Final = ("response", "output", "completion", "result", "response_body", "response_obj", "outputs")
_INSIDE: Final = ("request", "metadata", "record", "kwargs", "response", "output", "body", "usage")
_STARTED: Final = (
    *("started", "start_time", "startTime", "timestamp", "time", "ts", "created_at", "createdAt"),
    *("request_time", "@timestamp", "datetime"),
)
_FIRST: Final = ("completion_start_time", "completionStartTime", "first_token_time")
_ENDED: Final = ("ended", "end_time", "endTime", "finished_at", "completed_at")
_UNTIL_FIRST: Final = ("ttft_s", "ttft")
_TOOK: Final = ("duration_s",)
_WORKERS: Final = (
    *("worker", "worker_url", "worker_id", "replica", "backend", "upstream", "server", "instance", "node"),
    *("dp_rank", "api_base"),
)
_MILLISECONDS: Final = 1e11
"""Seconds since 1970 are below it until the year 5138, milliseconds above since 1973."""


class Reply(NamedTuple):
    """What is known of a request beside its body; None is unknown.

    answer: the response as it was logged. cached, tokens: of the prompt, as reported. started, first, ended: seconds
    since the epoch (first: when the answer began). worker: who served it.
    """

    answer: Any = None
    cached: int | None = None
    tokens: int | None = None
    started: float | None = None
    first: float | None = None
    ended: float | None = None
    worker: str | None = None


NOTHING: Final = Reply()


def told(reply: Reply) -> frozenset[str]:
    """What of it is known, as rules ask for it."""
    known = {
        "answers": reply.answer is not None,
        "reported cached tokens": reply.cached is not None,
        "times": reply.started is not None,
        "workers": reply.worker is not None,
    }
    return frozenset(name for name, is_known in known.items() if is_known)


def reply_in(entry: Mapping[str, Any], body: Mapping[str, Any]) -> Reply:
    """What an entry of a log says beside the body in it; NOTHING when it is the body alone."""
    if entry is body:
        return NOTHING
    places = list(_places(entry, body))
    answer = _first_of(places[:1], _ANSWERS)
    answer = answer.get("body", answer) if isinstance(answer, dict) else answer
    cached, tokens = _usage([answer, *places])
    started = _moment(places, _STARTED)
    first, ended = _moment(places, _FIRST), _moment(places, _ENDED)
    if started is not None:
        until, took = _seconds(places, _UNTIL_FIRST), _seconds(places, _TOOK)
        first = first if first is not None or until is None else started + until
        ended = ended if ended is not None or took is None else started + took
    worker = _first_of(places, _WORKERS)
    return Reply(
        answer, cached, tokens, started, first, ended, str(worker) if isinstance(worker, (str, int)) else None
    )


def _places(entry: Mapping[str, Any], body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The entry, and the objects in it that are no request body."""
    yield entry
    for name in _INSIDE:
        inner = entry.get(name)
        if isinstance(inner, dict) and inner is not body:
            yield inner
            nested = inner.get("body")
            if name == "response" and isinstance(nested, dict):
                yield nested


def _first_of(places: list[Mapping[str, Any]], names: tuple[str, ...]) -> Any:
    return next((place[name] for place in places for name in names if place.get(name) is not None), None)


def _usage(places: list[Any]) -> tuple[int | None, int | None]:
    """Tokens reported as cached, and of the whole prompt."""
    for place in places:
        if isinstance(place, dict):
            try:
                usage = parse_usage(place)
            except UsageError:
                continue
            if usage.input_total is not None or usage.cached_read is not None:
                return usage.cached_read, usage.input_total
    return None, None


def _moment(places: list[Mapping[str, Any]], names: tuple[str, ...]) -> float | None:
    value = _first_of(places, names)
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    if isinstance(value, str):
        return _iso(value)
    return value / 1000 if value > _MILLISECONDS else float(value)


def _iso(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _seconds(places: list[Mapping[str, Any]], names: tuple[str, ...]) -> float | None:
    value = _first_of(places, names)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
