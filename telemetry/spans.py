"""The spans of one finished request: a SERVER span with the routing decisions, a CLIENT span for each engine asked.

Names: HTTP conventions 1.41 (stable); `gen_ai.*` as of 2026-08, still "Development", with the renamed
`cache_write` and the new `gen_ai.prompt.version`; `prefixgate.*` is ours. What belongs to the conversation with the
model stands on the CLIENT span alone, so that no backend counts it twice; only the last attempt has an answer. What
nobody reported is left out: unknown is not zero. No text of any prompt. docs/tracing.md shows all of it. Pure.
"""

from typing import Final, NamedTuple
from urllib.parse import urlsplit

from prefix.record import RequestRecord
from telemetry.catalog import OPERATIONS
from telemetry.span_wire import CLIENT, SERVER, Event, Span, Value
from telemetry.tracing import Attempt, Decision, Trace

_NOTHING: Final[tuple[str, ...]] = ()
_Told = tuple[tuple[str, Value | None], ...]


class Said(NamedTuple):
    """What an answer says of itself: its id, the model that made it, why it ended, per choice."""

    id: str | None = None
    model: str | None = None
    finish_reasons: tuple[str, ...] = _NOTHING


NOTHING_SAID: Final = Said()


class Divergence(NamedTuple):
    """Why tokens of a prompt are `divergent`: the kind of cause, where (JSON pointer), how far into the text."""

    cause: str
    pointer: str
    offset: int | None


class Finished(NamedTuple):
    """The facts of one sampled request. ended: monotonic seconds, as its attempts' times. scheme, path: of its URL.
    session: what the client calls its conversation."""

    record: RequestRecord
    trace: Trace
    ended: float
    method: str
    scheme: str
    path: str
    session: str | None
    max_tokens: int | None
    cache_write: int | None
    said: Said


def spans(done: Finished, divergence: Divergence | None = None) -> list[Span]:
    """The spans of a request. divergence: where it is known."""
    record, trace = done.record, done.trace
    parent, clock = trace.parent, _Clock(record, done.ended)
    failed = record.status >= 500 or (record.status < 400 and record.outcome in ("truncated", "error"))
    server = Span(
        name=f"{done.method} {record.path}",
        kind=SERVER,
        trace_id=trace.trace_id or "",
        span_id=trace.span_id or "",
        parent_id=parent.span_id if parent is not None else "",
        state=parent.state if parent is not None else "",
        start=clock.start,
        end=clock.end,
        attributes=_server(done, divergence),
        events=_events(done, clock),
        error=(record.error_type or "_OTHER") if failed else None,
        remote=parent is not None,
    )
    return [server, *(_client(done, server, n, each, clock) for n, each in enumerate(trace.attempts))]


class _Clock:
    """Monotonic seconds to ns since the epoch."""

    def __init__(self, record: RequestRecord, ended: float) -> None:
        self.start = int(record.started * 1e9)
        self.end = self.start + int(record.duration_s * 1e9)
        self._ended = ended

    def at(self, moment: float) -> int:
        return min(self.end, max(self.start, self.end - int((self._ended - moment) * 1e9)))


def _server(done: Finished, divergence: Divergence | None) -> dict[str, Value]:
    record = done.record
    attributes: dict[str, Value] = {
        "http.request.method": done.method,
        "http.route": record.path,
        "http.response.status_code": record.status,
        "url.scheme": done.scheme,
        "url.path": done.path,
        "prefixgate.request_id": record.request_id,
        "prefixgate.route": record.route,
        "prefixgate.customer": record.customer,
        "prefixgate.outcome": record.outcome,
        "prefixgate.overhead": record.overhead_s,
    }
    told: _Told = (
        ("error.type", record.error_type),
        ("prefixgate.prompt_version", record.prompt_version),
        ("prefixgate.client_request_id", record.client_request_id),
        ("prefixgate.limit", record.limit),
        ("prefixgate.worker.id", record.worker),
        ("prefixgate.route.reason", record.reason),
        ("prefixgate.overlap_tokens", record.expected_cached_tokens),
        ("prefixgate.retries", record.retries or None),
        ("prefixgate.changes", record.changes or None),
        ("prefixgate.queued", record.queued_s or None),
    )
    attributes.update([(name, value) for name, value in told if value is not None])
    for reason, tokens in (record.uncached_by_reason or {}).items():
        attributes[f"prefixgate.uncached.{reason}"] = tokens
    if divergence is not None:
        attributes["prefixgate.divergence.cause"] = divergence.cause
        attributes["prefixgate.divergence.pointer"] = divergence.pointer
        if divergence.offset is not None:
            attributes["prefixgate.divergence.offset"] = divergence.offset
    return attributes


def _events(done: Finished, clock: _Clock) -> tuple[Event, ...]:
    record = done.record
    events = [
        Event("prefixgate.route", clock.at(each.started), _decision(each.worker, each.decision))
        for each in done.trace.attempts
    ]
    if record.ttft_s is not None:
        events.append(Event("prefixgate.first_token", clock.start + int(record.ttft_s * 1e9)))
    events.append(Event("prefixgate.end", clock.end, {"prefixgate.outcome": record.outcome}))
    return tuple(events)


def _decision(worker: str, decision: Decision) -> dict[str, Value]:
    return {
        "prefixgate.worker.id": worker,
        "prefixgate.policy": decision.policy,
        "prefixgate.route.reason": decision.reason,
        "prefixgate.candidates": decision.candidates,
        "prefixgate.overlap_tokens": decision.overlap,
        "prefixgate.best_fleet_tokens": decision.best,
        "prefixgate.given_up_tokens": max(0, decision.best - decision.overlap),
    }


def _client(done: Finished, server: Span, number: int, attempt: Attempt, clock: _Clock) -> Span:
    record = done.record
    last = attempt is done.trace.attempts[-1]
    error = attempt.error or (record.error_type if last else None)
    operation = OPERATIONS.get(record.path)
    attributes = _http(done, number, attempt, error)
    if operation is not None:
        attributes.update(_asked(done, attempt, operation))
        if last:
            attributes.update(_answered(done, clock.at(attempt.started) - clock.start))
    return Span(
        name=server.name if operation is None else f"{operation} {record.model}",
        kind=CLIENT,
        trace_id=server.trace_id,
        span_id=attempt.span_id,
        parent_id=server.span_id,
        state=server.state,
        start=clock.at(attempt.started),
        end=clock.at(attempt.ended),
        attributes=attributes,
        error=error,
    )


def _http(done: Finished, number: int, attempt: Attempt, error: str | None) -> dict[str, Value]:
    parts = urlsplit(attempt.url)
    attributes: dict[str, Value] = {
        "http.request.method": done.method,
        "server.address": parts.hostname or "",
        "server.port": parts.port or (443 if parts.scheme == "https" else 80),
        "prefixgate.worker.id": attempt.worker,
    }
    if number:
        attributes["http.request.resend_count"] = number
    if attempt.status:
        attributes["http.response.status_code"] = attempt.status
    if error is not None:
        attributes["error.type"] = error
    return attributes


def _asked(done: Finished, attempt: Attempt, operation: str) -> dict[str, Value]:
    record = done.record
    attributes: dict[str, Value] = {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": attempt.kind,
        "gen_ai.request.model": record.model,
        "gen_ai.request.stream": record.stream,
    }
    if done.max_tokens is not None:
        attributes["gen_ai.request.max_tokens"] = done.max_tokens
    if done.session is not None:
        attributes["gen_ai.conversation.id"] = done.session
    if record.prompt_version is not None:
        attributes["gen_ai.prompt.version"] = record.prompt_version
    return attributes


def _answered(done: Finished, asked_ns: int) -> list[tuple[str, Value]]:
    """asked_ns: from the request's arrival to this attempt."""
    record, said = done.record, done.said
    told: _Told = (
        ("gen_ai.response.id", said.id),
        ("gen_ai.response.model", said.model),
        ("gen_ai.response.finish_reasons", said.finish_reasons or None),
        ("gen_ai.response.time_to_first_chunk", None if record.ttft_s is None else record.ttft_s - asked_ns / 1e9),
        ("gen_ai.usage.input_tokens", record.input_tokens),
        ("gen_ai.usage.output_tokens", record.output_tokens),
        ("gen_ai.usage.cache_read.input_tokens", record.cached_tokens),
        ("gen_ai.usage.cache_write.input_tokens", done.cache_write),
    )
    return [(name, value) for name, value in told if value is not None]
