"""What the spans of a request say, and what they leave out."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from prefix.record import RequestRecord
from telemetry.span_facts import NOTHING_SAID, Divergence, Finished, Said
from telemetry.span_wire import CLIENT, SERVER, Span
from telemetry.spans import spans
from telemetry.tracing import Decision, Trace, Tracer

Make = Callable[..., RequestRecord]
ENDED = 500.0
PARENT = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
DECISION = Decision(3, "expected-ttft", "load", 64, 704)


def began(*headers: tuple[bytes, bytes]) -> Trace:
    """A sampled trace."""
    ids = iter(range(0x1000, 0x2000))
    return Tracer(1.0, lambda _: next(ids)).begin(headers)


def asked(trace: Trace, after: float = 0.1, lasted: float = 1.0, worker: str = "w1:30000", status: int = 200) -> None:
    """An engine was asked so many seconds after the request's arrival (it ends 1.1 s after it)."""
    attempt = trace.attempt(worker, f"http://{worker}", "sglang", DECISION, ENDED - 1.1 + after)
    attempt.ended = attempt.started + lasted
    attempt.status = status


def finished(record: RequestRecord, trace: Trace, **more: Any) -> list[Span]:
    """The spans."""
    facts: dict[str, Any] = {
        "session": None,
        "max_tokens": None,
        "cache_write": None,
        "said": NOTHING_SAID,
        "method": "POST",
        "scheme": "http",
        "path": record.path,
    }
    divergence = more.pop("divergence", None)
    made = spans(Finished(record=record, trace=trace, ended=ENDED, **facts | more), divergence)
    return [flat(span, events=tuple(flat(event) for event in span.events)) for span in made]


def flat(thing: Any, **more: Any) -> Any:
    """A span or an event with all its attributes in one place."""
    return msgspec.structs.replace(thing, attributes={**thing.shared.attributes, **thing.attributes}, **more)


def test_the_tree_of_an_ordinary_request(make_record: Make) -> None:
    """A SERVER span below the client's, a CLIENT span below it, times that lie in one another, no error."""
    trace = began((b"traceparent", PARENT), (b"tracestate", b"a=1"))
    asked(trace)
    server, client = finished(make_record(), trace)
    assert (server.name, server.kind) == ("POST /v1/chat/completions", SERVER)
    assert (client.name, client.kind) == ("chat m1", CLIENT)
    assert server.parent_id == "b7ad6b7169203331"
    assert server.remote
    assert client.parent_id == server.span_id == trace.span_id
    assert not client.remote
    assert client.span_id == trace.attempts[0].span_id
    assert server.trace_id == client.trace_id == "0af7651916cd43dd8448eb211c80319c"
    assert server.state == client.state == "a=1"
    assert server.start == 1_760_000_000_000_000_000
    assert server.end - server.start == 1_100_000_000
    assert client.start - server.start == pytest.approx(100_000_000, abs=1000)
    assert client.end - client.start == pytest.approx(1_000_000_000, abs=1000)
    assert server.error is client.error is None


def test_attributes_of_the_server_span(make_record: Make) -> None:
    """HTTP's names, ours, and the reasons of the uncached tokens."""
    trace = began()
    asked(trace)
    record = make_record(uncached_by_reason={"page": 40, "divergent": 320}, retries=1, changes=2, queued_s=0.5)
    place = Divergence("clock", "/messages/0/content", 1893)
    server, _ = finished(record, trace, divergence=place)
    assert server.attributes == {
        "http.request.method": "POST",
        "http.route": "/v1/chat/completions",
        "http.response.status_code": 200,
        "url.scheme": "http",
        "url.path": "/v1/chat/completions",
        "prefixgate.request_id": "r1",
        "prefixgate.route": "default",
        "prefixgate.customer": "anonymous",
        "prefixgate.outcome": "ok",
        "prefixgate.overhead": 0.0004,
        "prefixgate.prompt_version": "v1",
        "prefixgate.worker.id": "w1",
        "prefixgate.route.reason": "overlap",
        "prefixgate.overlap_tokens": 704,
        "prefixgate.retries": 1,
        "prefixgate.changes": 2,
        "prefixgate.queued": 0.5,
        "prefixgate.uncached.page": 40,
        "prefixgate.uncached.divergent": 320,
        "prefixgate.divergence.cause": "clock",
        "prefixgate.divergence.pointer": "/messages/0/content",
        "prefixgate.divergence.offset": 1893,
    }


def test_attributes_of_the_client_span(make_record: Make) -> None:
    """The GenAI conventions' names; the input includes what was cached."""
    trace = began()
    asked(trace, after=0.02)
    said = Said("chatcmpl-1", "m1-fp8", ("stop", "length"))
    _, client = finished(make_record(), trace, session="s1", max_tokens=256, cache_write=320, said=said)
    first = client.attributes["gen_ai.response.time_to_first_chunk"]
    assert first == pytest.approx(0.08)
    assert client.attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "sglang",
        "gen_ai.request.model": "m1",
        "gen_ai.request.stream": True,
        "gen_ai.request.max_tokens": 256,
        "gen_ai.conversation.id": "s1",
        "gen_ai.prompt.version": "v1",
        "gen_ai.response.id": "chatcmpl-1",
        "gen_ai.response.model": "m1-fp8",
        "gen_ai.response.finish_reasons": ("stop", "length"),
        "gen_ai.response.time_to_first_chunk": first,
        "gen_ai.usage.input_tokens": 1000,
        "gen_ai.usage.output_tokens": 101,
        "gen_ai.usage.cache_read.input_tokens": 640,
        "gen_ai.usage.cache_write.input_tokens": 320,
        "http.request.method": "POST",
        "http.response.status_code": 200,
        "server.address": "w1",
        "server.port": 30000,
        "prefixgate.worker.id": "w1:30000",
    }


def test_what_nobody_reported_is_left_out(make_record: Make) -> None:
    """Unknown is not zero; a known zero is told."""
    trace = began()
    asked(trace)
    unknown = make_record(input_tokens=None, cached_tokens=None, output_tokens=None, ttft_s=None)
    server, client = finished(unknown, trace)
    told = {name for name in client.attributes if name.startswith(("gen_ai.usage", "gen_ai.response"))}
    assert told == set()
    assert [event.name for event in server.events] == ["prefixgate.route", "prefixgate.end"]
    _, client = finished(make_record(cached_tokens=0), trace)
    assert client.attributes["gen_ai.usage.cache_read.input_tokens"] == 0


def test_events(make_record: Make) -> None:
    """The decision with what it gave up, the first token, the end: in order of time."""
    trace = began()
    asked(trace)
    server, _ = finished(make_record(ttft_s=0.3), trace)
    route, first, end = server.events
    assert route.attributes == {
        "prefixgate.worker.id": "w1:30000",
        "prefixgate.policy": "expected-ttft",
        "prefixgate.route.reason": "load",
        "prefixgate.candidates": 3,
        "prefixgate.overlap_tokens": 64,
        "prefixgate.best_fleet_tokens": 704,
        "prefixgate.given_up_tokens": 640,
    }
    assert (first.name, end.name) == ("prefixgate.first_token", "prefixgate.end")
    assert first.at - server.start == 300_000_000
    assert end.attributes == {"prefixgate.outcome": "ok"}
    assert server.start <= route.at < first.at < end.at == server.end


def test_a_retry_is_two_client_spans(make_record: Make) -> None:
    """The attempt that failed says why; only the last one has an answer."""
    trace = began()
    asked(trace, lasted=0.05, worker="dead:1", status=0)
    trace.attempts[0].error = "no_engine"
    asked(trace, after=0.2, lasted=0.9)
    server, dead, alive = finished(make_record(retries=1), trace)
    assert dead.error == dead.attributes["error.type"] == "no_engine"
    assert "http.response.status_code" not in dead.attributes
    assert "gen_ai.usage.input_tokens" not in dead.attributes
    assert dead.attributes["gen_ai.request.model"] == "m1"
    assert alive.error is None
    assert alive.attributes["http.request.resend_count"] == 1
    assert alive.attributes["gen_ai.usage.input_tokens"] == 1000
    assert dead.end <= alive.start
    assert server.error is None
    assert [event.attributes.get("prefixgate.worker.id") for event in server.events][:2] == ["dead:1", "w1:30000"]


@pytest.mark.parametrize(
    ("fields", "server_error", "client_error"),
    [
        ({"status": 502, "outcome": "error", "error_type": "no_engine"}, "no_engine", "no_engine"),
        ({"status": 500, "outcome": "error", "error_type": "500"}, "500", "500"),
        ({"status": 200, "outcome": "truncated", "error_type": "stream_broken"}, "stream_broken", "stream_broken"),
        ({"status": 200, "outcome": "error", "error_type": "engine_error"}, "engine_error", "engine_error"),
        ({"status": 400, "outcome": "error", "error_type": "400"}, None, "400"),
        (
            {"status": 499, "outcome": "client_disconnect", "error_type": "client_disconnect"},
            None,
            "client_disconnect",
        ),
    ],
)
def test_errors(make_record: Make, fields: dict[str, Any], server_error: str | None, client_error: str) -> None:
    """A SERVER span failed when the server did (5xx, broken off), a CLIENT span whenever it got no good answer."""
    trace = began()
    asked(trace)
    server, client = finished(make_record(**fields), trace)
    assert server.error == server_error
    assert client.error == client_error
    assert server.attributes["error.type"] == client.attributes["error.type"] == client_error


def test_a_refused_request_has_one_span(make_record: Make) -> None:
    """No engine was asked."""
    record = make_record(status=429, outcome="rejected", error_type="rate_limited", worker=None, limit="requests")
    (server,) = finished(record, began())
    assert server.error is None
    assert server.attributes["prefixgate.limit"] == "requests"
    assert [event.name for event in server.events][-1] == "prefixgate.end"
    assert "prefixgate.worker.id" not in server.attributes


@pytest.mark.parametrize(
    ("path", "operation"),
    [
        ("/v1/completions", "text_completion"),
        ("/generate", "text_completion"),
        ("/v1/messages", "chat"),
        ("/v1/embeddings", "embeddings"),
        ("/v1/rerank", None),
    ],
)
def test_other_paths(make_record: Make, path: str, operation: str | None) -> None:
    """A path that asks no model for anything has plain HTTP spans."""
    trace = began()
    asked(trace)
    server, client = finished(make_record(path=path), trace)
    assert server.name == f"POST {path}"
    assert client.name == (f"{operation} m1" if operation else f"POST {path}")
    assert client.attributes.get("gen_ai.operation.name") == operation
    assert any(name.startswith("gen_ai.") for name in client.attributes) == (operation is not None)


def test_clocks_that_disagree(make_record: Make) -> None:
    """Whatever the clocks say, an attempt lies within its request."""
    trace = began()
    asked(trace, after=-5.0, lasted=50.0)
    server, client = finished(make_record(), trace)
    assert (client.start, client.end) == (server.start, server.end)
