"""Which requests are sampled, whose ids they have, and what the engine is told."""

import random
from collections.abc import Callable

import pytest

from telemetry.trace_context import read_parent
from telemetry.tracing import Decision, Trace, Tracer

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
DECISION = Decision(2, "expected-ttft", "overlap", 10, 10)
SAMPLED = [(b"x", b"y"), (b"traceparent", f"00-{TRACE}-{SPAN}-01".encode()), (b"tracestate", b"a=1")]
UNSAMPLED = [(b"x", b"y"), (b"traceparent", f"00-{TRACE}-{SPAN}-00".encode()), (b"tracestate", b"a=1")]
BAD = [(b"x", b"y"), (b"traceparent", b"garbage"), (b"tracestate", b"a=1")]
NONE = [(b"x", b"y")]


def bits(seed: int = 0) -> Callable[[int], int]:
    """Repeatable random bits."""
    return random.Random(seed).getrandbits


def ask(trace: Trace) -> str:
    """Has the trace go to an engine; the attempt's span id."""
    return trace.attempt("w", "http://w", "sglang", DECISION, 1.0).span_id


@pytest.mark.parametrize("headers", [SAMPLED, UNSAMPLED, BAD, NONE])
def test_off(headers: list[tuple[bytes, bytes]]) -> None:
    """Without tracing the client's headers go on as they are, whatever they are, and its ids are logged."""
    trace = Tracer(None, bits()).begin(headers)
    assert not trace.sampled
    assert trace.headers(headers) is headers
    valid = headers in (SAMPLED, UNSAMPLED)
    assert (trace.trace_id, trace.span_id) == ((TRACE, SPAN) if valid else (None, None))


@pytest.mark.parametrize("ratio", [0.0, 1.0])
def test_a_sampled_parent_is_followed(ratio: float) -> None:
    """Whatever the ratio: its trace id, our span below it, the attempt's span for the engine, the state as it was."""
    trace = Tracer(ratio, bits()).begin(SAMPLED)
    assert trace.sampled
    assert trace.trace_id == TRACE
    assert trace.span_id not in (SPAN, None)
    assert trace.parent is not None
    assert trace.parent.span_id == SPAN
    attempt = ask(trace)
    assert trace.headers(SAMPLED) == [
        (b"x", b"y"),
        (b"traceparent", f"00-{TRACE}-{attempt}-01".encode()),
        (b"tracestate", b"a=1"),
    ]


def test_an_unsampled_parent_is_followed() -> None:
    """No span, and its headers go on as they came."""
    trace = Tracer(1.0, bits()).begin(UNSAMPLED)
    assert not trace.sampled
    assert trace.headers(UNSAMPLED) is UNSAMPLED
    assert (trace.trace_id, trace.span_id) == (TRACE, SPAN)


@pytest.mark.parametrize("headers", [BAD, NONE])
def test_a_new_trace(headers: list[tuple[bytes, bytes]]) -> None:
    """Without a parent that is one: new ids, a root, no state; the engine's parent is the attempt."""
    trace = Tracer(1.0, bits()).begin(headers)
    assert trace.sampled
    assert trace.parent is None
    attempt = ask(trace)
    sent = list(trace.headers(headers))
    assert sent == [(b"x", b"y"), (b"traceparent", f"00-{trace.trace_id}-{attempt}-01".encode())]


def test_a_new_trace_that_is_not_sampled() -> None:
    """The engine is told so: its own sampler would begin a trace otherwise."""
    trace = Tracer(0.0, bits()).begin(BAD)
    assert not trace.sampled
    parent = read_parent(trace.headers(BAD))
    assert parent == (trace.trace_id, trace.span_id, 0, "")


def test_each_attempt_is_a_span() -> None:
    """A retry tells the next engine its own parent."""
    trace = Tracer(1.0, bits()).begin(NONE)
    told = []
    for _ in range(2):
        ask(trace)
        parent = read_parent(trace.headers(NONE))
        assert parent is not None
        told.append(parent.span_id)
    assert told == [each.span_id for each in trace.attempts]
    assert len({trace.span_id, *told}) == 3


@pytest.mark.parametrize("ratio", [0.0, 0.1, 0.5, 1.0])
def test_the_ratio(ratio: float) -> None:
    """So many of the requests without a parent are sampled."""
    tracer = Tracer(ratio, bits())
    share = sum(tracer.begin(NONE).sampled for _ in range(4000)) / 4000
    assert share == pytest.approx(ratio, abs=0.03 if 0 < ratio < 1 else 0)


def test_the_ratio_is_of_the_trace_id() -> None:
    """A gateway behind another with the same ratio decides alike: by the id's low 64 bits."""
    for low, sampled in ((0, True), ((1 << 63) - 1, True), (1 << 63, False), ((1 << 64) - 1, False)):
        trace = Tracer(0.5, lambda n, low=low: (1 << 100) + low if n == 128 else 7).begin(NONE)
        assert trace.sampled is sampled


def test_no_id_is_zero() -> None:
    """Zero is not an id."""
    trace = Tracer(1.0, lambda _: 0).begin(NONE)
    assert (trace.trace_id, trace.span_id) == (f"{1:032x}", f"{1:016x}")
