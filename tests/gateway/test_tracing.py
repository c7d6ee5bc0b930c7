"""Spans of real requests, as a collector gets them: the tree, its ids, and what the engine is told."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from engine_adapter.simulated import SimulatedEngine
from engine_adapter.simulated_options import EngineOptions
from gateway.config import CustomerConfig
from gateway.identity import new_key
from gateway.misses import Misses
from gateway.otlp_settings import TracingConfig
from gateway.tracing import SpanCauses
from telemetry.knowledge import Explained
from telemetry.trace_context import Parent, read_parent
from tests.gateway.fake_engine import EVENTS_HEAD, Answer, FakeEngine, chunk, raw, stream, whole
from tests.gateway.running import CHAT, GENERATE, Running, chat, running, until
from tests.gateway.test_misses import asks, prepared
from tests.telemetry.collector import Collector, attributes, collecting
from tests.telemetry.conftest import ORDINARY

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED = {"traceparent": f"00-{TRACE}-{PARENT}-01", "tracestate": "vendor=1"}
UNSAMPLED = {"traceparent": f"00-{TRACE}-{PARENT}-00"}
USAGE = {"prompt_tokens": 30, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 16}}
ANSWER = {
    "id": "chatcmpl-7",
    "model": "m-fp8",
    "choices": [{"index": 0, "message": {"content": "SECRET answer"}, "finish_reason": "stop"}],
    "usage": USAGE,
}
OK = whole(msgspec.json.encode(ANSWER))
DELTA = {"id": "chatcmpl-8", "model": "m-fp8", "choices": [{"index": 0, "delta": {"content": "a"}}]}
LAST = DELTA | {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}], "usage": USAGE}
CALM = {"poll_interval_s": 60.0}


def events(*payloads: Any) -> list[bytes]:
    """Server-sent events."""
    return [b"data: " + msgspec.json.encode(each) + b"\n\n" for each in payloads]


class Tracked:
    """A gateway and the collector that its spans go to."""

    def __init__(self, gateway: Running, collector: Collector) -> None:
        self.gateway = gateway
        self._collector = collector

    async def spans(self, count: int) -> list[Span]:
        """So many spans, once they are there; the SERVER spans before their children."""
        await until(lambda: len(self._collector.spans) >= count)
        assert len(self._collector.spans) == count
        return self._collector.spans


@pytest.fixture(scope="module")
def listening() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector


@pytest.fixture
def collector(listening: Collector, monkeypatch: pytest.MonkeyPatch) -> Collector:
    """A collector without spans yet; they come soon."""
    monkeypatch.setattr("telemetry.span_queue._EVERY_S", 0.01)
    listening.traces.clear()
    listening.arrivals, listening.status, listening.silent = 0, 200, False
    return listening


@asynccontextmanager
async def traced(
    collector: Collector, *engines: FakeEngine, ratio: float | None = None, protocol: str = "http", **settings: Any
) -> AsyncIterator[Tracked]:
    """A gateway that traces to the collector."""
    section = TracingConfig(sample_ratio=ratio, endpoint=getattr(collector, protocol), protocol=protocol)
    async with running(*engines, tracing=section, **CALM | settings) as gateway:
        yield Tracked(gateway, collector)


def told(engine: FakeEngine, number: int = -1) -> Parent | None:
    """The parent that the engine was told."""
    return read_parent([(name.encode(), value.encode()) for name, value in engine.received[number].headers])


def trace_headers(engine: FakeEngine) -> dict[str, str]:
    """What the engine was told in so many words."""
    return {name: value for name, value in engine.received[-1].headers if name in ("traceparent", "tracestate")}


@pytest.mark.parametrize("protocol", ["http", "grpc"])
async def test_the_tree(collector: Collector, protocol: str) -> None:
    """SERVER below the client's span, CLIENT below it, the engine below that one; one trace, sampled, state kept."""
    async with FakeEngine(OK) as engine, traced(collector, engine, protocol=protocol) as here:
        assert (await here.gateway.ask(CHAT, chat(), **SAMPLED))[0] == 200
        server, client = await here.spans(2)
        record = await here.gateway.last_record()
    assert server.trace_id.hex() == client.trace_id.hex() == TRACE
    assert server.parent_span_id.hex() == PARENT
    assert client.parent_span_id == server.span_id
    assert told(engine) == (TRACE, client.span_id.hex(), 1, "vendor=1")
    assert server.trace_state == client.trace_state == "vendor=1"
    assert (server.kind, client.kind) == (Span.SPAN_KIND_SERVER, Span.SPAN_KIND_CLIENT)
    assert (server.name, client.name) == ("POST /v1/chat/completions", "chat m")
    assert server.flags & 1
    assert client.flags & 1
    assert server.status.code == client.status.code == 0
    assert server.start_time_unix_nano <= client.start_time_unix_nano
    assert client.start_time_unix_nano < client.end_time_unix_nano <= server.end_time_unix_nano
    assert (record.trace_id, record.span_id) == (TRACE, server.span_id.hex())


async def test_a_streamed_answer(collector: Collector) -> None:
    """Names and values: usage with the cached tokens in it, first token, what the answer said of itself."""
    pieces = [*events(DELTA, LAST), b"data: [DONE]\n\n"]
    async with FakeEngine(stream(*pieces)) as engine, traced(collector, engine) as here:
        body = chat(stream=True, max_tokens=99)
        headers = {"x_prefixgate_session": "talk-1", "x_prefixgate_prompt_version": "v7", "x_request_id": "mine"}
        await here.gateway.ask(CHAT, body, **headers)
        server, client = await here.spans(2)
        (worker,) = here.gateway.workers
        record = await here.gateway.last_record()
    said = attributes(client)
    assert 0 < said.pop("gen_ai.response.time_to_first_chunk") < 10
    assert said == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "sglang",
        "gen_ai.request.model": "m",
        "gen_ai.request.stream": True,
        "gen_ai.request.max_tokens": 99,
        "gen_ai.conversation.id": "talk-1",
        "gen_ai.prompt.version": "v7",
        "gen_ai.response.id": "chatcmpl-8",
        "gen_ai.response.model": "m-fp8",
        "gen_ai.response.finish_reasons": ["length"],
        "gen_ai.usage.input_tokens": 30,
        "gen_ai.usage.output_tokens": 2,
        "gen_ai.usage.cache_read.input_tokens": 16,
        "http.request.method": "POST",
        "http.response.status_code": 200,
        "server.address": "127.0.0.1",
        "server.port": engine.port,
        "prefixgate.worker.id": worker.id,
    }
    mine = attributes(server)
    assert mine["prefixgate.request_id"] == record.request_id
    assert mine["prefixgate.client_request_id"] == "mine"
    assert mine["prefixgate.prompt_version"] == "v7"
    uncached = {name: value for name, value in mine.items() if name.startswith("prefixgate.uncached.")}
    assert sum(uncached.values()) == 14
    assert [event.name for event in server.events] == [
        "prefixgate.route",
        "prefixgate.first_token",
        "prefixgate.end",
    ]
    decision = attributes(server.events[0])
    assert decision["prefixgate.candidates"] == 1
    assert decision["prefixgate.worker.id"] == worker.id
    times = [event.time_unix_nano for event in server.events]
    assert server.start_time_unix_nano <= times[0] <= times[1] <= times[2] == server.end_time_unix_nano


async def test_no_text_of_a_prompt_or_an_answer(collector: Collector) -> None:
    """In no attribute, name or event."""
    async with FakeEngine(OK) as engine, traced(collector, engine) as here:
        await here.gateway.ask(CHAT, chat("SECRET question", tools=[{"type": "function", "function": {"name": "f"}}]))
        await here.spans(2)
    assert b"SECRET" not in b"".join(request.SerializeToString() for request in collector.traces)


async def test_a_whole_answer_without_headers(collector: Collector) -> None:
    """A root span of a new trace, which the engine is told of."""
    async with FakeEngine(OK) as engine, traced(collector, engine) as here:
        await here.gateway.ask(CHAT, chat())
        server, client = await here.spans(2)
    assert server.parent_span_id == b""
    assert told(engine) == (server.trace_id.hex(), client.span_id.hex(), 1, "")
    assert attributes(client)["gen_ai.response.finish_reasons"] == ["stop"]
    assert attributes(client)["gen_ai.response.id"] == "chatcmpl-7"


async def test_a_traceparent_that_is_none(collector: Collector) -> None:
    """A new trace, and its tracestate is dropped."""
    async with FakeEngine(OK) as engine, traced(collector, engine) as here:
        await here.gateway.ask(CHAT, chat(), traceparent=f"00-{TRACE}-{'0' * 16}-01", tracestate="vendor=1")
        server, client = await here.spans(2)
    assert server.trace_id.hex() != TRACE
    assert trace_headers(engine) == {"traceparent": f"00-{server.trace_id.hex()}-{client.span_id.hex()}-01"}


async def test_a_client_that_does_not_sample(collector: Collector) -> None:
    """No spans, and the engine is told just what the client said."""
    async with FakeEngine(OK) as engine, traced(collector, engine) as here:
        await here.gateway.ask(CHAT, chat(), **UNSAMPLED)
        unsampled = trace_headers(engine)
        await here.gateway.ask(CHAT, chat(), **SAMPLED)
        await here.spans(2)
    assert unsampled == UNSAMPLED


async def test_a_request_that_is_not_sampled(collector: Collector) -> None:
    """The engine is told not to sample either; the access log has ids that join the two."""
    async with FakeEngine(OK) as engine, traced(collector, engine, ratio=0.0) as here:
        await here.gateway.ask(CHAT, chat())
        record = await here.gateway.last_record()
        parent = told(engine)
        await here.gateway.ask(CHAT, chat(), **SAMPLED)
        await here.spans(2)
    assert parent == (record.trace_id, record.span_id, 0, "")


@pytest.mark.parametrize("headers", [{}, SAMPLED, UNSAMPLED, {"traceparent": "x", "tracestate": "y"}])
async def test_off(headers: dict[str, str]) -> None:
    """Nothing is added and nothing changed."""
    async with FakeEngine(OK) as engine, running(engine) as gateway:
        await gateway.ask(CHAT, chat(), **headers)
        assert trace_headers(engine) == headers
        assert not any(name.startswith("prefixgate_spans_total") for name in await gateway.metrics())


async def test_a_retry_is_two_client_spans(collector: Collector) -> None:
    """Both attempts are seen, with what became of them; each engine is told its own parent."""
    one, other = FakeEngine(), FakeEngine()
    one.answers = other.answers = [raw(then="reset"), OK]
    async with one, other, traced(collector, one, other) as here:
        for connection in (*one.connections, *other.connections):
            connection.close()
        assert (await here.gateway.ask(CHAT, chat()))[0] == 200
        server, failed, served = await here.spans(3)
    first, second = (one, other) if attributes(failed)["server.port"] == one.port else (other, one)
    assert attributes(served)["server.port"] == second.port
    assert failed.parent_span_id == served.parent_span_id == server.span_id
    for engine, span in ((first, failed), (second, served)):
        parent = told(engine)
        assert parent is not None
        assert parent.span_id == span.span_id.hex()
    assert attributes(failed)["error.type"] == "engine_disconnected"
    assert failed.status.code == 2
    assert "gen_ai.usage.input_tokens" not in attributes(failed)
    assert attributes(served)["http.request.resend_count"] == 1
    assert served.status.code == server.status.code == 0
    assert attributes(server)["prefixgate.retries"] == 1
    assert [event.name for event in server.events].count("prefixgate.route") == 2


@pytest.mark.parametrize(
    ("answer", "status", "error", "server_failed"),
    [
        (whole(b'{"error": {}}', 500), 500, "500", True),
        (whole(b'{"error": {}}', 400), 400, "400", False),
        (raw(then="reset"), 502, "engine_disconnected", True),
        (raw(EVENTS_HEAD, chunk(events(DELTA)[0]), then="reset"), 200, "stream_broken", True),
    ],
)
async def test_errors(collector: Collector, answer: Answer, status: int, error: str, server_failed: bool) -> None:
    """A stable word in error.type; the status of both spans by HTTP's rule."""
    async with FakeEngine(answer) as engine, traced(collector, engine, max_attempts=1) as here:
        for connection in engine.connections:
            connection.close()
        async with here.gateway.post(CHAT, chat(stream=status == 200)) as response:
            assert response.status == status
            await asyncio.gather(response.read(), return_exceptions=True)
        server, client = await here.spans(2)
    assert attributes(server)["error.type"] == attributes(client)["error.type"] == error
    assert attributes(server)["http.response.status_code"] == status
    assert client.status.code == 2
    assert server.status.code == (2 if server_failed else 0)


async def test_a_client_that_leaves(collector: Collector) -> None:
    """Its spans end when it left, and say so; what had come until then is told."""
    async with FakeEngine(raw(EVENTS_HEAD, chunk(events(DELTA)[0]))) as engine, traced(collector, engine) as here:
        async with here.gateway.post(CHAT, chat(stream=True)) as response:
            await response.content.readany()
            response.close()
        server, client = await here.spans(2)
    assert attributes(server)["error.type"] == attributes(client)["error.type"] == "client_disconnect"
    assert attributes(server)["http.response.status_code"] == 499
    assert server.status.code == 0
    assert attributes(client)["gen_ai.response.id"] == "chatcmpl-8"
    assert [event.name for event in server.events][-2:] == ["prefixgate.first_token", "prefixgate.end"]


async def test_a_refused_request(collector: Collector) -> None:
    """One span, of the trace the client asked for, though nothing of it was read but its headers."""
    customers = {"acme": CustomerConfig(keys=(new_key()[1],))}
    async with FakeEngine(OK) as engine, traced(collector, engine, customers=customers) as here:
        assert (await here.gateway.ask(CHAT, chat(), **SAMPLED))[0] == 401
        (server,) = await here.spans(1)
    assert server.parent_span_id.hex() == PARENT
    assert attributes(server)["error.type"] == "invalid_api_key"
    assert [event.name for event in server.events] == ["prefixgate.end"]


async def test_credentials_reach_neither_engine_nor_spans(collector: Collector) -> None:
    """With customers configured their headers are filtered as ever."""
    key, stored = new_key()
    customers = {"acme": CustomerConfig(keys=(stored,))}
    async with FakeEngine(OK) as engine, traced(collector, engine, customers=customers) as here:
        await here.gateway.ask(CHAT, chat(), authorization=f"Bearer {key}", **SAMPLED)
        server, _ = await here.spans(2)
    assert "authorization" not in dict(engine.received[-1].headers)
    assert attributes(server)["prefixgate.customer"] == "acme"
    assert key.encode() not in b"".join(request.SerializeToString() for request in collector.traces)


async def test_a_divergent_prompt_has_its_cause(collector: Collector) -> None:
    """Where two prompts part and why, as the API for one request says it."""

    def dated(clock: str) -> dict[str, Any]:
        rules = " ".join(f"Rule {n}: be helpful, be brief, and never lie." for n in range(200))
        return {"text": f"It is 2026-11-30T{clock}Z. {rules}", "sampling_params": {"max_new_tokens": 2}}

    section = TracingConfig(endpoint=collector.http)
    async with SimulatedEngine(EngineOptions()) as engine, running(engine, tracing=section) as gateway:
        for clock in ("09:14:07", "10:25:38"):
            await gateway.ask(GENERATE, dated(clock))
        here = Tracked(gateway, collector)
        first, _, second, client = await here.spans(4)
    assert "prefixgate.divergence.cause" not in attributes(first)
    said = attributes(second)
    assert said["prefixgate.uncached.divergent"] > 0
    assert (said["prefixgate.divergence.cause"], said["prefixgate.divergence.pointer"]) == ("clock", "/text")
    assert client.name.startswith("text_completion ")


@pytest.mark.parametrize("fault", ["down", "silent", "refuses"])
async def test_a_collector_in_trouble_costs_requests_nothing(collector: Collector, fault: str) -> None:
    """They are answered as ever, their spans are counted as lost, and the end comes soon."""
    collector.silent, collector.status = fault == "silent", 400 if fault == "refuses" else 200
    endpoint = "http://127.0.0.1:9" if fault == "down" else collector.http
    section = TracingConfig(endpoint=endpoint, timeout_s=0.1)
    async with FakeEngine(OK) as engine, running(engine, tracing=section, **CALM) as gateway:
        for _ in range(3):
            assert (await gateway.ask(CHAT, chat()))[0] == 200

        async def lost() -> float:
            return (await gateway.metrics()).get('prefixgate_spans_total{outcome="failed"}', 0)

        async with asyncio.timeout(10):
            while await lost() < 2:
                await asyncio.sleep(0.02)
        collector.ended.set()
    collector.ended.clear()


async def test_spans_are_counted(collector: Collector) -> None:
    """At /metrics, by what became of them."""
    async with FakeEngine(OK) as engine, traced(collector, engine) as here:
        await here.gateway.ask(CHAT, chat())
        await here.spans(2)
        await until(lambda: here.gateway.app.tracing.counts()["sent"] == 2)
        metrics = await here.gateway.metrics()
    assert metrics['prefixgate_spans_total{outcome="sent"}'] == 2
    assert metrics['prefixgate_spans_total{outcome="dropped"}'] == 0


async def test_what_waits_is_delivered_at_the_end(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gateway that stops loses no spans."""
    monkeypatch.setattr("telemetry.span_queue._EVERY_S", 60.0)
    async with FakeEngine(OK) as engine, traced(collector, engine) as here:
        await here.gateway.ask(CHAT, chat())
    assert len(collector.spans) == 2


def test_so_many_causes_a_second() -> None:
    """Finding a cause takes parsing two bodies: beyond the limit spans do without."""
    misses, record = Misses(), msgspec.structs.replace(ORDINARY, uncached_by_reason={"divergent": 9})
    nearest, sent = asks("It is 2026-11-30T09:14:07Z. Help."), asks("It is 2026-11-30T09:15:29Z. Help.")
    misses.remember(record, prepared(sent), Explained({"divergent": 9}, nearest, 10, 20))
    now = 100.0
    causes = SpanCauses(misses, lambda: now)
    found = [causes.of(record) for _ in range(25)]
    assert [each is not None for each in found] == [True] * 20 + [False] * 5
    assert found[0] == ("clock", "/messages/0/content", 6)
    now = 101.0
    assert causes.of(record) is not None
    assert causes.of(msgspec.structs.replace(record, request_id="gone")) is None
    assert causes.of(ORDINARY) is None
