"""Spans over real sockets: what a collector gets, and what is made of its answers."""

from collections.abc import Iterator
from typing import Any

import pytest

from prefix.errors import ConfigError
from telemetry import senders
from telemetry.otlp import Protocol, find_target
from telemetry.senders import make_sender
from telemetry.span_queue import Undelivered
from telemetry.span_wire import SERVER, Encoder, Span, encode
from tests.telemetry.collector import Collector, attributes, collecting

SPAN = Span("n", SERVER, "1" * 32, "2" * 16, "", "", 1, 2, {"a": "b"})
BODY = Encoder({"service.name": "x"}, ("prefixgate", "1")).message([encode(SPAN)])
PROTOCOLS: tuple[Protocol, ...] = ("http", "grpc")
NOBODY = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def listening() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector


@pytest.fixture
def collector(listening: Collector) -> Collector:
    """A collector that takes everything and has nothing yet."""
    listening.traces.clear()
    listening.status, listening.retry_after, listening.silent = 200, None, False
    return listening


def sender(protocol: Protocol, url: str, **environ: str) -> Any:
    """A sender to there."""
    timeout_s = float(environ.pop("timeout_s", "5"))
    target = find_target("traces", environ, endpoint=url, protocol=protocol, timeout_s=timeout_s)
    assert target is not None
    return make_sender(target)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("compression", ["", "gzip"])
def test_a_message_arrives(collector: Collector, protocol: Protocol, compression: str) -> None:
    """Over one connection, again and again, with the headers from the environment."""
    made = sender(
        protocol,
        getattr(collector, protocol),
        OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer%20k",
        OTEL_EXPORTER_OTLP_COMPRESSION=compression,
    )
    for _ in range(3):
        made.send(BODY)
    made.close()
    assert [span.name for span in collector.spans] == ["n"] * 3
    assert attributes(collector.spans[0]) == {"a": "b"}
    assert attributes(collector.traces[0].resource_spans[0].resource) == {"service.name": "x"}
    assert collector.headers["authorization"] == "Bearer k"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_nobody_listens(protocol: Protocol) -> None:
    """It may be tried again, and the next attempt is a fresh one."""
    made = sender(protocol, NOBODY, timeout_s="0.5")
    for _ in range(2):
        with pytest.raises(Undelivered, match="collector") as caught:
            made.send(BODY)
        assert caught.value.again
    made.close()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_collector_that_says_nothing(collector: Collector, protocol: Protocol) -> None:
    """The wait is bounded."""
    collector.silent = True
    made = sender(protocol, getattr(collector, protocol), timeout_s="0.1")
    with pytest.raises(Undelivered) as caught:
        made.send(BODY)
    assert caught.value.again
    made.close()


@pytest.mark.parametrize(
    ("status", "retry_after", "again", "after_s"),
    [
        (400, None, False, 0.0),
        (401, None, False, 0.0),
        (404, "5", False, 5.0),
        (429, "3", True, 3.0),
        (502, None, True, 0.0),
        (503, "Wed, 21 Oct 2026 07:28:00 GMT", True, 0.0),
        (504, None, True, 0.0),
        (500, None, False, 0.0),
    ],
)
def test_answers_over_http(
    collector: Collector, status: int, retry_after: str | None, again: bool, after_s: float
) -> None:
    """OTLP says which statuses may be tried again."""
    collector.status, collector.retry_after = status, retry_after
    made = sender("http", collector.http)
    with pytest.raises(Undelivered, match=str(status)) as caught:
        made.send(BODY)
    assert (caught.value.again, caught.value.after_s) == (again, after_s)
    collector.status = 200
    made.send(BODY)
    made.close()
    assert len(collector.spans) == 1


def test_answers_over_grpc(collector: Collector) -> None:
    """UNAVAILABLE may be tried again."""
    collector.status = 503
    made = sender("grpc", collector.grpc)
    with pytest.raises(Undelivered, match="UNAVAILABLE: told to") as caught:
        made.send(BODY)
    assert caught.value.again
    made.close()


def test_grpc_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what to install."""
    monkeypatch.setattr(senders, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="pip install opentelemetry-exporter-otlp-proto-grpc"):
        sender("grpc", NOBODY)


def test_grpc_with_certificates_that_are_not_there() -> None:
    """A missing file is an error of the configuration."""
    with pytest.raises(ConfigError, match=r"/none\.pem"):
        sender("grpc", "https://127.0.0.1:9", OTEL_EXPORTER_OTLP_CERTIFICATE="/none.pem")


def test_https_is_spoken_where_it_is_asked_for(collector: Collector) -> None:
    """A collector without TLS is not talked to in the clear."""
    made = sender("http", collector.http.replace("http:", "https:"))
    with pytest.raises(Undelivered, match="did not answer"):
        made.send(BODY)
    assert not collector.spans
