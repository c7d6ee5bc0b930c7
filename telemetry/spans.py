"""The spans of one finished request: a SERVER span with the routing decisions, a CLIENT span for each engine asked.

Names: HTTP conventions 1.41 (stable); `gen_ai.*` as of 2026-08, still "Development", with the renamed
`cache_write` and the new `gen_ai.prompt.version`; `prefixgate.*` is ours. What belongs to the conversation with the
model stands on the CLIENT span alone, so that no backend counts it twice; only the last attempt has an answer. What
nobody reported is left out: unknown is not zero. No text of any prompt. docs/tracing.md shows all of it. Pure.
"""

from functools import lru_cache
from typing import Final, get_args
from urllib.parse import urlsplit

from prefix.record import RequestRecord, UncachedReason
from telemetry.catalog import OPERATIONS
from telemetry.span_facts import Divergence, Finished
from telemetry.span_wire import CLIENT, SERVER, Event, Shared, Span, Value
from telemetry.tracing import Attempt

_KNOWN: Final = 1024
"""Combinations of attributes that come again, of each kind."""
_UNCACHED: Final = {reason: f"prefixgate.uncached.{reason}" for reason in get_args(UncachedReason)}


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
        attributes=_server(record, done.path, divergence),
        shared=_server_shared(
            done.method,
            record.path,
            record.status,
            done.scheme,
            record.error_type,
            (record.route, record.customer, record.prompt_version),
            (record.worker, record.reason),
            record.outcome,
            (record.limit, record.retries, record.changes),
        ),
        events=_events(done, clock),
        error=(record.error_type or "_OTHER") if failed else None,
        remote=parent is not None,
    )
    return [server, *[_client(done, server, n, each, clock) for n, each in enumerate(trace.attempts)]]


class _Clock:
    """Monotonic seconds to ns since the epoch."""

    def __init__(self, record: RequestRecord, ended: float) -> None:
        self.start = int(record.started * 1e9)
        self.end = self.start + int(record.duration_s * 1e9)
        self._ended = ended

    def at(self, moment: float) -> int:
        return min(self.end, max(self.start, self.end - int((self._ended - moment) * 1e9)))


@lru_cache(_KNOWN)
def _server_shared(
    method: str,
    route: str,
    status: int,
    scheme: str,
    error: str | None,
    traffic: tuple[str, str, str | None],
    decided: tuple[str | None, str | None],
    outcome: str,
    counts: tuple[str | None, int, int],
) -> Shared:
    """traffic: route, customer, prompt version. decided: worker, reason. counts: limit, retries, changes."""
    limit, retries, changes = counts
    return Shared(
        _known(
            ("http.request.method", method),
            ("http.route", route),
            ("http.response.status_code", status),
            ("url.scheme", scheme),
            ("error.type", error),
            ("prefixgate.route", traffic[0]),
            ("prefixgate.customer", traffic[1]),
            ("prefixgate.prompt_version", traffic[2]),
            ("prefixgate.worker.id", decided[0]),
            ("prefixgate.route.reason", decided[1]),
            ("prefixgate.outcome", outcome),
            ("prefixgate.limit", limit),
            ("prefixgate.retries", retries or None),
            ("prefixgate.changes", changes or None),
        )
    )


def _server(record: RequestRecord, path: str, divergence: Divergence | None) -> dict[str, Value]:
    attributes: dict[str, Value] = {
        "url.path": path,
        "prefixgate.request_id": record.request_id,
        "prefixgate.overhead": record.overhead_s,
    }
    if record.client_request_id is not None:
        attributes["prefixgate.client_request_id"] = record.client_request_id
    if record.expected_cached_tokens is not None:
        attributes["prefixgate.overlap_tokens"] = record.expected_cached_tokens
    if record.asked_model is not None:
        attributes["prefixgate.asked_model"] = record.asked_model
    if record.queued_s:
        attributes["prefixgate.queued"] = record.queued_s
    for reason, tokens in (record.uncached_by_reason or {}).items():
        attributes[_UNCACHED[reason]] = tokens
    if divergence is not None:
        attributes["prefixgate.divergence.cause"] = divergence.cause
        attributes["prefixgate.divergence.pointer"] = divergence.pointer
        if divergence.offset is not None:
            attributes["prefixgate.divergence.offset"] = divergence.offset
    return attributes


def _events(done: Finished, clock: _Clock) -> tuple[Event, ...]:
    record = done.record
    events = [_decision(each, clock.at(each.started)) for each in done.trace.attempts]
    if record.ttft_s is not None:
        events.append(Event("prefixgate.first_token", clock.start + int(record.ttft_s * 1e9)))
    events.append(Event("prefixgate.end", clock.end, shared=_end(record.outcome)))
    return tuple(events)


@lru_cache(_KNOWN)
def _end(outcome: str) -> Shared:
    return Shared({"prefixgate.outcome": outcome})


def _decision(attempt: Attempt, at: int) -> Event:
    worker, (candidates, policy, reason, overlap, best) = attempt.worker, attempt.decision
    tokens: dict[str, Value] = {
        "prefixgate.overlap_tokens": overlap,
        "prefixgate.best_fleet_tokens": best,
        "prefixgate.given_up_tokens": max(0, best - overlap),
    }
    return Event("prefixgate.route", at, tokens, _decision_shared(worker, policy, reason, candidates))


@lru_cache(_KNOWN)
def _decision_shared(worker: str, policy: str, reason: str, candidates: int) -> Shared:
    return Shared(
        {
            "prefixgate.worker.id": worker,
            "prefixgate.policy": policy,
            "prefixgate.route.reason": reason,
            "prefixgate.candidates": candidates,
        }
    )


def _client(done: Finished, server: Span, number: int, attempt: Attempt, clock: _Clock) -> Span:
    record = done.record
    last = attempt is done.trace.attempts[-1]
    error = attempt.error or (record.error_type if last else None)
    operation = OPERATIONS.get(record.path)
    started = clock.at(attempt.started)
    asked = None
    if operation is not None:
        asked = (operation, attempt.kind, record.model, record.stream, done.max_tokens, record.prompt_version)
    said = done.said[1:] if last and operation is not None else (None, ())
    return Span(
        name=server.name if operation is None else f"{operation} {record.model}",
        kind=CLIENT,
        trace_id=server.trace_id,
        span_id=attempt.span_id,
        parent_id=server.span_id,
        state=server.state,
        start=started,
        end=clock.at(attempt.ended),
        attributes={} if operation is None else _answered(done, started - clock.start, last=last),
        shared=_client_shared(done.method, number, attempt.status, attempt.url, attempt.worker, error, asked, said),
        error=error,
    )


_Asked = tuple[str, str, str, bool, int | None, str | None]


@lru_cache(_KNOWN)
def _client_shared(
    method: str,
    number: int,
    status: int,
    url: str,
    worker: str,
    error: str | None,
    asked: _Asked | None,
    said: tuple[str | None, tuple[str, ...]],
) -> Shared:
    """number: of the attempt, from 0. asked: operation, kind of engine, model, stream, tokens at most, version."""
    parts = urlsplit(url)
    operation, kind, model, stream, most, version = asked or (None,) * 6
    return Shared(
        _known(
            ("http.request.method", method),
            ("http.request.resend_count", number or None),
            ("http.response.status_code", status or None),
            ("server.address", parts.hostname),
            ("server.port", parts.port or (443 if parts.scheme == "https" else 80)),
            ("error.type", error),
            ("prefixgate.worker.id", worker),
            ("gen_ai.operation.name", operation),
            ("gen_ai.provider.name", kind),
            ("gen_ai.request.model", model),
            ("gen_ai.request.stream", stream),
            ("gen_ai.request.max_tokens", most),
            ("gen_ai.prompt.version", version),
            ("gen_ai.response.model", said[0]),
            ("gen_ai.response.finish_reasons", said[1] or None),
        )
    )


def _answered(done: Finished, asked_ns: int, *, last: bool) -> dict[str, Value]:
    """asked_ns: from the request's arrival to this attempt. last: the one that was answered, if any was."""
    record = done.record
    if not last:
        return _known(("gen_ai.conversation.id", done.session))
    return _known(
        ("gen_ai.conversation.id", done.session),
        ("gen_ai.response.id", done.said.id),
        ("gen_ai.response.time_to_first_chunk", None if record.ttft_s is None else record.ttft_s - asked_ns / 1e9),
        ("gen_ai.usage.input_tokens", record.input_tokens),
        ("gen_ai.usage.output_tokens", record.output_tokens),
        ("gen_ai.usage.cache_read.input_tokens", record.cached_tokens),
        ("gen_ai.usage.cache_write.input_tokens", done.cache_write),
    )


def _known(*told: tuple[str, Value | None]) -> dict[str, Value]:
    return {name: value for name, value in told if value is not None}
