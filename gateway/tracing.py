"""Between a request and its spans: which facts of an exchange they are made of.

The request path takes a few steps: `begin`; for a sampled request `note_attempt` at each engine, and `finished`,
which hands over a tuple. What parts a divergent prompt from its nearest is found in the spans' thread, so many times
a second.
"""

import random
import time
from collections.abc import Callable, Iterable

from gateway.dispatch import Place
from gateway.exchange import Exchange
from gateway.incoming import Scope
from gateway.misses import Misses
from gateway.otlp_settings import Otlp
from prefix.record import RequestRecord
from telemetry.setup import create_span_queue
from telemetry.span_facts import Divergence, Finished
from telemetry.span_queue import SpanQueue
from telemetry.span_wire import Span
from telemetry.spans import spans
from telemetry.trace_context import RawHeader
from telemetry.tracing import Attempt, Decision, Trace, Tracer

_CAUSES_PER_S = 20
"""Finding one takes parsing two bodies."""


class Tracing:
    """misses: where causes are asked for. Raises ConfigError when spans cannot be sent as `otlp` says."""

    def __init__(self, otlp: Otlp, misses: Misses, version: str) -> None:
        self._tracer = Tracer(otlp.ratio, random.Random().getrandbits)  # noqa: S311 - ids, not secrets
        causes = SpanCauses(misses, time.monotonic)

        def make(done: Finished) -> list[Span]:
            return spans(done, causes.of(done.record))

        self._queue: SpanQueue | None = None
        if otlp.traces is not None:
            self._queue = create_span_queue(otlp.traces, make, version=version)

    def start(self) -> None:
        """Deliver spans from now on."""
        if self._queue is not None:
            self._queue.start()

    def close(self, timeout_s: float = 5.0) -> None:
        """Deliver what waits and stop; blocks up to `timeout_s`."""
        if self._queue is not None:
            self._queue.close(timeout_s)

    def counts(self) -> dict[str, int]:
        """Spans by what became of them; nothing while tracing is off."""
        return self._queue.counts() if self._queue is not None else {}

    def begin(self, headers: Iterable[RawHeader]) -> Trace:
        """The trace of a request with these headers."""
        return self._tracer.begin(headers)

    def finished(self, exchange: Exchange, record: RequestRecord, scope: Scope, now: float) -> None:
        """A request ended. now: monotonic seconds, as the exchange's."""
        if self._queue is None or not exchange.trace.sampled:
            return
        prepared, usage = exchange.prepared, exchange.usage
        self._queue.put(
            Finished(
                record=record,
                trace=exchange.trace,
                ended=now,
                method=scope["method"],
                scheme=scope["scheme"],
                path=scope["path"],
                session=prepared.identity.session if prepared is not None else None,
                max_tokens=prepared.max_output_tokens if prepared is not None else None,
                cache_write=usage.cache_write if usage is not None else None,
                said=exchange.said,
            )
        )


def note_attempt(exchange: Exchange, place: Place, now: float) -> Attempt | None:
    """A request goes to this place; None when nobody wants to know. now: monotonic seconds."""
    if not exchange.trace.sampled:
        return None
    worker, route = place.worker, place.route
    decision = Decision(
        place.candidates, place.group.policy, route.reason, route.expected_cached_tokens, route.best_fleet_tokens
    )
    return exchange.trace.attempt(route.worker, worker.url, worker.engine.kind, decision, now)


class SpanCauses:
    """Why prompts parted, so many a second. now: monotonic seconds."""

    def __init__(self, misses: Misses, now: Callable[[], float]) -> None:
        self._misses = misses
        self._now = now
        self._left, self._second = 0, -1

    def of(self, record: RequestRecord) -> Divergence | None:
        """What parted this prompt from its nearest; None when nothing did, or too many are asked for."""
        if not (record.uncached_by_reason or {}).get("divergent"):
            return None
        second = int(self._now())
        if second != self._second:
            self._left, self._second = _CAUSES_PER_S, second
        miss = self._misses.find(record.request_id)
        if self._left == 0 or miss is None or miss.parting is None:
            return None
        self._left -= 1
        cause, _ = miss.parting.examine()
        return None if cause is None else Divergence(cause.kind, cause.path, cause.offset)
