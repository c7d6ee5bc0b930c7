"""A request's place in its trace: what it costs while the request runs.

One idea: no span exists before the request has ended. A `Trace` comes with every request; where it is not sampled it
says what to tell the engine and nothing more; where it is, an `Attempt` per engine asked notes a few times and facts,
and telemetry.spans makes spans of them off the request path.

Sampling is by the client's decision where it made one, else by the ratio of trace ids (TraceIdRatioBased, parent
based: https://opentelemetry.io/docs/specs/otel/trace/sdk/#built-in-samplers). Pure: random bits are an argument.
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from telemetry.trace_context import Parent, RawHeader, read_parent, traceparent, without

_LOW: Final = (1 << 64) - 1


class Decision(NamedTuple):
    """Why a worker was chosen. candidates: how many could have had the request. Tokens of its prompt believed to be
    cached: overlap on the worker, best on any."""

    candidates: int
    policy: str
    reason: str
    overlap: int
    best: int


class Attempt:
    """One engine asked. kind: of engine. Monotonic seconds. status 0: it did not answer. error: of this attempt, None
    where there was none or where it is the request's."""

    __slots__ = ("decision", "ended", "error", "kind", "span_id", "started", "status", "url", "worker")

    def __init__(self, span_id: str, worker: str, url: str, kind: str, decision: Decision, started: float) -> None:
        self.span_id, self.worker, self.url, self.kind = span_id, worker, url, kind
        self.decision = decision
        self.started = self.ended = started
        self.status = 0
        self.error: str | None = None


class Trace:
    """A request's place in its trace. Ids are hex; span_id is that of our SERVER span where there is one, else the
    client's; None where nobody has one. attempts: of a sampled request."""

    __slots__ = ("_randbits", "attempts", "parent", "sampled", "span_id", "trace_id")

    def __init__(
        self,
        trace_id: str | None,
        span_id: str | None,
        parent: Parent | None = None,
        randbits: Callable[[int], int] | None = None,
        *,
        sampled: bool = False,
    ) -> None:
        self.trace_id, self.span_id, self.parent = trace_id, span_id, parent
        self.sampled = sampled
        self.attempts: list[Attempt] = []
        self._randbits = randbits

    def attempt(self, worker: str, url: str, kind: str, decision: Decision, now: float) -> Attempt:
        """A sampled request goes to this engine now."""
        assert self._randbits is not None
        attempt = Attempt(_span_id(self._randbits), worker, url, kind, decision, now)
        self.attempts.append(attempt)
        return attempt

    def answered(self, status: int) -> None:
        """The engine that was asked last answered."""
        if self.sampled:
            self.attempts[-1].status = status

    def headers(self, headers: Iterable[RawHeader]) -> Iterable[RawHeader]:
        """What goes to the engine for the client's headers: the last attempt's span as parent, or that nothing is
        sampled. The very headers where the client's own say so, or tracing is off."""
        if self._randbits is None or self.trace_id is None or self.span_id is None:
            return headers
        span_id, flags, state = self.span_id, 0, ""
        if self.sampled:
            span_id = self.attempts[-1].span_id
            flags, state = (self.parent.flags, self.parent.state) if self.parent is not None else (1, "")
        told = [*without(headers), traceparent(self.trace_id, span_id, flags)]
        if state:
            told.append((b"tracestate", state.encode()))
        return told


NO_TRACE: Final = Trace(None, None)
"""Of a request whose client told none, while tracing is off."""


class Tracer:
    """Begins traces. ratio: of the requests whose client made no decision, 0 to 1; None: tracing is off."""

    def __init__(self, ratio: float | None, randbits: Callable[[int], int]) -> None:
        self._on = ratio is not None
        self._below = round((ratio or 0.0) * (1 << 64))
        self._randbits = randbits

    def begin(self, headers: Iterable[RawHeader]) -> Trace:
        """The trace of a request with these headers (lower-case names)."""
        parent = read_parent(headers)
        if parent is not None and not (self._on and parent.sampled):
            return Trace(parent.trace_id, parent.span_id)
        if not self._on:
            return NO_TRACE
        randbits = self._randbits
        if parent is not None:
            return Trace(parent.trace_id, _span_id(randbits), parent, randbits, sampled=True)
        number = randbits(128) or 1
        sampled = number & _LOW < self._below
        return Trace(f"{number:032x}", _span_id(randbits), None, randbits, sampled=sampled)


def _span_id(randbits: Callable[[int], int]) -> str:
    return f"{randbits(64) or 1:016x}"
