"""Our span bytes against the SDK's encoder: the same message for the same span."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event as SdkEvent
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState

from telemetry.span_wire import CLIENT, SERVER, Attributes, Encoder, Event, Shared, Span, encode

RESOURCE = {"service.name": "prefixgate", "service.version": "1"}
SCOPE = ("prefixgate", "1")
TIMES = st.integers(0, 2**63)
VALUES = st.one_of(
    st.text(max_size=200),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.lists(st.text(max_size=20), max_size=3).map(tuple),
)
ATTRIBUTES = st.dictionaries(st.text("abc._é", min_size=1, max_size=150), VALUES, max_size=6)
SHARED = st.dictionaries(st.text("xyz", min_size=1, max_size=20), VALUES, max_size=3).map(Shared)
EVENTS = st.lists(st.builds(Event, st.text(max_size=20), TIMES, ATTRIBUTES, SHARED), max_size=3).map(tuple)
STATES = st.sampled_from(["", "a=1", "a=1,b@c=2"])


def hexes(digits: int) -> st.SearchStrategy[str]:
    """Ids."""
    return st.integers(1, 16**digits - 1).map(lambda number: f"{number:0{digits}x}")


SPANS = st.builds(
    Span,
    st.text(max_size=200),
    st.sampled_from((SERVER, CLIENT)),
    hexes(32),
    hexes(16),
    st.one_of(st.just(""), hexes(16)),
    STATES,
    TIMES,
    TIMES,
    ATTRIBUTES,
    SHARED,
    EVENTS,
    st.one_of(st.none(), st.text(min_size=1, max_size=20)),
)


def sdk_span(span: Span) -> ReadableSpan:
    """The same as the SDK's object."""
    state = TraceState.from_header([span.state]) if span.state else None
    parent = None
    if span.parent_id:
        parent = SpanContext(int(span.trace_id, 16), int(span.parent_id, 16), span.remote, TraceFlags(1))
    return ReadableSpan(
        span.name,
        context=SpanContext(int(span.trace_id, 16), int(span.span_id, 16), False, TraceFlags(1), state),
        parent=parent,
        resource=Resource(RESOURCE),
        attributes=plain(span),
        events=[SdkEvent(each.name, plain(each), each.at) for each in span.events],
        kind=SpanKind.SERVER if span.kind == SERVER else SpanKind.CLIENT,
        status=Status(StatusCode.UNSET) if span.error is None else Status(StatusCode.ERROR, span.error),
        start_time=span.start,
        end_time=span.end,
        instrumentation_scope=InstrumentationScope(*SCOPE),
    )


def plain(thing: Span | Event) -> dict[str, Any]:
    """All attributes of it, lists where the SDK wants them."""
    attributes = {**thing.shared.attributes, **thing.attributes}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in attributes.items()}


def read(message: bytes) -> ExportTraceServiceRequest:
    """A message as a collector reads it, without the flags of level 2, which the SDK does not tell."""
    request = ExportTraceServiceRequest.FromString(message)
    for span in request.resource_spans[0].scope_spans[0].spans:
        assert span.flags & 1
        span.flags &= ~1
    return request


@settings(max_examples=40)
@given(st.lists(SPANS, min_size=1, max_size=3))
def test_as_the_sdk(spans: list[Span]) -> None:
    """Any spans: what a collector reads is what it would read from the SDK."""
    ours = read(Encoder(RESOURCE, SCOPE).message(map(encode, spans)))
    assert ours == encode_spans([sdk_span(span) for span in spans])


def test_what_comes_again_keeps_its_type() -> None:
    """1, 1.0, True and "1" stay apart, though Python's dicts think most of them equal."""
    attributes: Attributes = {"a": 1, "b": 1.0, "c": True, "d": "1", "e": 0, "f": 0.0, "g": False}
    span = Span("n", CLIENT, "1" * 32, "2" * 16, "", "", 1, 2, attributes)
    for _ in range(2):
        message = read(Encoder(RESOURCE, SCOPE).message([encode(span)]))
        assert message == encode_spans([sdk_span(span)])


def test_texts_that_are_none() -> None:
    """A lone surrogate is replaced, a long text cut: neither loses the whole message."""
    span = Span("n\ud800", SERVER, "1" * 32, "2" * 16, "", "", 1, 2, {"a": "\udfff", "b": "x" * 5000})
    request = read(Encoder(RESOURCE, SCOPE).message([encode(span)]))
    sent = request.resource_spans[0].scope_spans[0].spans[0]
    assert sent.name == "n?"
    assert [len(each.value.string_value) for each in sent.attributes] == [1, 1024]
    assert request.resource_spans[0].scope_spans[0].scope.name == "prefixgate"


def test_remote_parents_are_told() -> None:
    """A parent in another process is marked so, one of ours is not."""
    flags = {}
    for remote in (True, False):
        span = Span("n", SERVER, "1" * 32, "2" * 16, "3" * 16, "", 1, 2, {}, remote=remote)
        request = ExportTraceServiceRequest.FromString(Encoder(RESOURCE, SCOPE).message([encode(span)]))
        flags[remote] = request.resource_spans[0].scope_spans[0].spans[0].flags
    assert flags == {True: 0x301, False: 0x101}
