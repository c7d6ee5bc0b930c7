"""What real exporters of the installed SDK make of the aggregates."""

import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.sdk.metrics.export import MetricExporter, MetricExportResult, MetricsData
from prometheus_client.core import Metric as PrometheusMetric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from prefix.errors import ConfigError
from prefix.record import RequestRecord
from telemetry import setup
from telemetry.aggregate import Aggregate
from telemetry.catalog import (
    CAPTURES,
    CATALOG,
    HIT_RATE_CHANGE,
    PROCESS_RESTARTS,
    SHARED_CONNECTED,
    SHARED_LAG,
    SHARED_MESSAGES,
    SHARED_REPLICAS,
    SPANS,
    prometheus_name,
)
from telemetry.gauges import WorkerGauges
from telemetry.labels import Labels
from telemetry.otlp import Protocol, find_target
from telemetry.points import Family, by_label, by_labels
from telemetry.setup import Exporters, create_exporters, create_span_queue
from telemetry.span_facts import NOTHING_SAID, Finished
from telemetry.spans import spans
from telemetry.tracing import Tracer
from tests.telemetry.collector import attributes, collecting

ROOT = Path(__file__).parents[2]

Make = Callable[..., RequestRecord]
Parse = Callable[[str], Iterable[PrometheusMetric]]
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]

# What Prometheus 2.42 sends.
OPENMETRICS = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain"
)
GAUGES = (WorkerGauges("w1", True, 3, 2, 0.5, 4, 900), WorkerGauges("w2", False, None, None, None, 0, None))


@pytest.fixture(autouse=True)
def _no_otlp_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's own OTLP settings are none of these tests' business."""
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_RESOURCE_ATTRIBUTES"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def aggregate(make_record: Make) -> Aggregate:
    """Two good requests, one without a report, one failed."""
    aggregate = Aggregate(Labels(["chat"], models=["m1"]))
    failed = {"status": 503, "outcome": "error", "error_type": "engine_unavailable", "cached_tokens": None}
    for fields in ({}, {"retries": 1, "changes": 2}, {"cached_tokens": None, "route": "chat"}, failed):
        aggregate.record(make_record(**fields))
    return aggregate


def samples(body: bytes, parse: Parse = parse_text) -> Samples:
    """Name and labels to value, by a real parser."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in parse(body.decode())
        for sample in family.samples
    }


def further() -> list[Family]:
    """What others than the aggregate count, as a gateway hands it over."""
    change = by_labels(HIT_RATE_CHANGE, {("default", "v2"): -0.25})
    shared = [by_label(metric, {"default": 1}) for metric in (SHARED_CONNECTED, SHARED_REPLICAS, SHARED_LAG)]
    counted = [
        by_label(SPANS, {"sent": 4}),
        by_label(CAPTURES, {"written": 2}),
        by_label(SHARED_MESSAGES, {"sent": 1}),
        by_label(PROCESS_RESTARTS, {"0": 1}),
        *(by_label(metric, {"w1": 1}) for metric in CATALOG if ".kv_events." in metric.name),
    ]
    return [*counted, change, *shared]


def labels(**values: str) -> frozenset[tuple[str, str]]:
    """Labels of a sample."""
    return frozenset(values.items())


TRAFFIC = labels(route="default", customer="anonymous", prompt_version="v1")
MODEL = {"gen_ai_operation_name": "chat", "gen_ai_request_model": "m1", "route": "default"}


@pytest.mark.parametrize(("accept", "parse"), [(None, parse_text), (OPENMETRICS, parse_openmetrics)])
def test_scrape_has_the_exact_counts(aggregate: Aggregate, accept: str | None, parse: Parse) -> None:
    """Both formats parse and carry the binding names, labels and exact values, without scope labels."""
    body, _ = create_exporters(aggregate, lambda: GAUGES).prometheus(accept)
    found = samples(body, parse)
    assert found["prefixgate_input_tokens_total", TRAFFIC] == 2000
    assert found["prefixgate_cached_tokens_total", TRAFFIC] == 1280
    assert found["prefixgate_expected_cached_tokens_total", TRAFFIC] == 1408
    assert found["prefixgate_unreported_input_tokens_total", TRAFFIC] == 1000
    assert found["prefixgate_output_tokens_total", TRAFFIC] == 303
    assert (
        found["prefixgate_route_decisions_total", labels(policy="expected-ttft", reason="overlap", worker="w1")] == 4
    )
    assert found["prefixgate_retries_total", labels(route="default")] == 1
    assert found["prefixgate_rewrites_total", labels(route="default")] == 2
    assert found["gen_ai_server_time_to_first_token_seconds_count", labels(**MODEL)] == 2
    assert found["gen_ai_server_time_to_first_token_seconds_bucket", labels(**MODEL, le="0.08")] == 0
    assert found["gen_ai_server_time_to_first_token_seconds_bucket", labels(**MODEL, le="0.1")] == 2
    assert found["gen_ai_client_token_usage_bucket", labels(**MODEL, gen_ai_token_type="input", le="1024.0")] == 3
    assert found["prefixgate_worker_kv_usage", labels(worker="w1")] == 0.5
    assert found["prefixgate_worker_up", labels(worker="w2")] == 0
    assert ("prefixgate_worker_kv_usage", labels(worker="w2")) not in found
    assert b"otel_scope" not in body


def test_success_has_no_error_type(aggregate: Aggregate) -> None:
    """Prometheus sees an absent (empty) error_type on success, so that `error_type!=""` selects failures."""
    body, _ = create_exporters(aggregate, tuple).prometheus()
    requests = {key: value for (name, key), value in samples(body).items() if name == "prefixgate_requests_total"}
    default = {each["error_type"]: n for key, n in requests.items() if (each := dict(key))["route"] == "default"}
    assert default == {"": 2, "engine_unavailable": 1}


@pytest.mark.parametrize(("accept", "parse"), [("", parse_text), (OPENMETRICS, parse_openmetrics)])
def test_scrape_before_the_first_request_is_valid(accept: str, parse: Parse) -> None:
    """An idle gateway announces every metric of the catalog under its Prometheus name, with no sample yet."""
    none = [by_labels(family.metric, {}) for family in further()]
    body, _ = create_exporters(Aggregate(Labels()), tuple, further=lambda: none).prometheus(accept)
    assert {name for name, _ in samples(body, parse)} == {"target_info"}
    announced = {line.split()[2] for line in body.decode().splitlines() if line.startswith("# TYPE ")}
    names = {prometheus_name(metric) for metric in CATALOG}
    if accept:
        names = {name.removesuffix("_total") for name in names}
    assert names <= announced


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        (None, "text/plain; version=0.0.4; charset=utf-8"),
        ("", "text/plain; version=0.0.4; charset=utf-8"),
        ("*/*", "text/plain; version=0.0.4; charset=utf-8"),
        ("text/html,text/plain;version=1.0.0", "text/plain; version=0.0.4; charset=utf-8"),
        (OPENMETRICS, "application/openmetrics-text; version=1.0.0; charset=utf-8"),
        ("application/openmetrics-text;version=99.bad", "application/openmetrics-text; version=1.0.0; charset=utf-8"),
    ],
)
def test_accept_chooses_the_format(accept: str | None, content_type: str) -> None:
    """OpenMetrics when asked for, the plain text format otherwise; never an error."""
    assert create_exporters(Aggregate(Labels()), tuple).prometheus(accept)[1] == content_type


def test_scrapes_repeat_and_follow(aggregate: Aggregate, make_record: Make) -> None:
    """A scrape changes nothing, and the next one has what came since."""
    exporters = create_exporters(aggregate, tuple)
    first = samples(exporters.prometheus()[0])
    assert samples(exporters.prometheus()[0]) == first
    aggregate.record(make_record())
    assert samples(exporters.prometheus()[0])["prefixgate_input_tokens_total", TRAFFIC] == 3000


def test_two_gateways_share_nothing(aggregate: Aggregate) -> None:
    """Several gateways in one process do not see each other's metrics."""
    full, empty = create_exporters(aggregate, tuple), create_exporters(Aggregate(Labels()), tuple)
    assert ("prefixgate_input_tokens_total", TRAFFIC) in samples(full.prometheus()[0])
    full.shutdown()
    assert {name for name, _ in samples(empty.prometheus()[0])} == {"target_info"}


def test_version_is_in_target_info() -> None:
    """The scrape says what it came from."""
    body, _ = create_exporters(Aggregate(Labels()), tuple, version="1.2.3").prometheus()
    ((_, info),) = samples(body)
    assert {"service_name": "prefixgate", "service_version": "1.2.3"}.items() <= dict(info).items()


def test_importing_the_aggregate_imports_no_sdk() -> None:
    """The request path and `--help` never pay for the SDK."""
    code = "import sys, telemetry.aggregate, telemetry.gauges; sys.exit('opentelemetry' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


# --- OTLP -----------------------------------------------------------------------------------------------------


class Recorder(MetricExporter):
    """Keeps what it is given, as it would go over the wire."""

    def __init__(self, endpoint: str | None = None) -> None:
        super().__init__()
        self.endpoint = endpoint
        self.sent: list[ExportMetricsServiceRequest] = []

    def export(self, metrics_data: MetricsData, timeout_millis: float = 10_000, **_: object) -> MetricExportResult:
        wire = encode_metrics(metrics_data).SerializeToString()
        self.sent.append(ExportMetricsServiceRequest.FromString(wire))
        return MetricExportResult.SUCCESS

    def force_flush(self, timeout_millis: float = 10_000) -> bool:
        return True

    def shutdown(self, timeout_millis: float = 30_000, **_: object) -> None:
        pass


def by_name(request: ExportMetricsServiceRequest) -> dict[str, Metric]:
    """The metrics of an OTLP request."""
    ((scope,),) = [each.scope_metrics for each in request.resource_metrics]
    return {metric.name: metric for metric in scope.metrics}


def test_otlp_carries_the_same_points(aggregate: Aggregate) -> None:
    """What is pushed is cumulative, exact, and says nothing about extremes nobody kept."""
    otlp = Recorder()
    exporters = Exporters(aggregate.snapshot, otlp=otlp)
    exporters.flush()
    exporters.shutdown()
    metrics = by_name(otlp.sent[0])
    tokens = metrics["prefixgate.input_tokens"]
    assert tokens.unit == "{token}"
    assert tokens.sum.is_monotonic
    assert tokens.sum.aggregation_temporality == 2
    values = {tuple(a.value.string_value for a in each.attributes): each.as_int for each in tokens.sum.data_points}
    assert values == {("default", "anonymous", "v1"): 2000, ("chat", "anonymous", "v1"): 0}
    assert all(each.start_time_unix_nano < each.time_unix_nano for each in tokens.sum.data_points)
    attributes = [{a.key for a in each.attributes} for each in metrics["prefixgate.requests"].sum.data_points]
    assert [each for each in attributes if "error.type" in each] == [
        {"route", "customer", "outcome", "error.type", "status_class"}
    ]
    ttft = metrics["gen_ai.server.time_to_first_token"].histogram.data_points[0]
    assert (ttft.count, ttft.sum, sum(ttft.bucket_counts)) == (2, 0.2, 2)
    assert len(ttft.bucket_counts) == len(ttft.explicit_bounds) + 1
    assert not ttft.HasField("min")
    assert not ttft.HasField("max")


def test_otlp_carries_exemplars(make_record: Make) -> None:
    """From a histogram to the trace of a request in that bucket."""
    aggregate, otlp = Aggregate(Labels()), Recorder()
    aggregate.record(make_record(trace_id="0a" * 16, span_id="0b" * 8, sampled=True))
    Exporters(aggregate.snapshot, otlp=otlp).shutdown()
    ttft = by_name(otlp.sent[0])["gen_ai.server.time_to_first_token"].histogram.data_points[0]
    (exemplar,) = ttft.exemplars
    assert (exemplar.trace_id.hex(), exemplar.span_id.hex()) == ("0a" * 16, "0b" * 8)
    assert exemplar.as_double == 0.1
    assert exemplar.time_unix_nano == 1_760_000_001_100_000_000


def test_shutdown_pushes_the_last_values(aggregate: Aggregate) -> None:
    """What was counted since the last push is not lost."""
    otlp = Recorder()
    Exporters(aggregate.snapshot, otlp=otlp).shutdown()
    assert len(otlp.sent) == 1


def test_nothing_is_pushed_unless_configured(aggregate: Aggregate, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without endpoint and variables the OTLP exporter is not even looked for."""
    monkeypatch.setattr(setup, "entry_points", lambda **_: pytest.fail("looked for an exporter"))
    exporters = create_exporters(aggregate, tuple)
    exporters.flush()
    exporters.shutdown()


class Installed:
    """An entry point whose exporter is `Recorder`."""

    def __init__(self) -> None:
        self.made: list[Recorder] = []

    def load(self) -> Callable[..., Recorder]:
        def make(endpoint: str, timeout: float) -> Recorder:
            self.made.append(Recorder(endpoint))
            return self.made[-1]

        return make


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_the_exporter_of_the_protocol(
    aggregate: Aggregate, monkeypatch: pytest.MonkeyPatch, protocol: Protocol
) -> None:
    """The SDK's exporter for it is loaded, told where, and pushes every metric of the catalog."""
    installed, asked = Installed(), []
    monkeypatch.setattr(setup, "entry_points", lambda **names: asked.append(names["name"]) or [installed])
    otlp = find_target("metrics", {}, endpoint="http://collector:4318", protocol=protocol)
    exporters = create_exporters(aggregate, lambda: GAUGES, otlp=otlp, further=further)
    exporters.flush()
    exporters.shutdown()
    (exporter,) = installed.made
    assert asked == [f"otlp_proto_{protocol}"]
    assert (
        exporter.endpoint == {"http": "http://collector:4318/v1/metrics", "grpc": "http://collector:4318"}[protocol]
    )
    assert {metric.name for metric in CATALOG} == set(by_name(exporter.sent[0]))


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_metrics_reach_a_collector(aggregate: Aggregate, protocol: Protocol) -> None:
    """Over the wire, by the real exporters."""
    with collecting() as collector:
        otlp = find_target("metrics", {}, endpoint=getattr(collector, protocol), protocol=protocol)
        create_exporters(aggregate, lambda: GAUGES, otlp=otlp, further=further).shutdown()
    metrics = by_name(collector.metrics[-1])
    assert {metric.name for metric in CATALOG} == set(metrics)
    (spans,) = metrics["prefixgate.spans"].sum.data_points
    assert spans.as_int == 4


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_spans_reach_a_collector(make_record: Make, monkeypatch: pytest.MonkeyPatch, protocol: Protocol) -> None:
    """Of a resource that says who we are and what the environment adds."""
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test")
    trace = Tracer(1.0, lambda n: 5).begin(())
    facts = Finished(make_record(), trace, 1.1, "POST", "http", "/x", None, None, None, NOTHING_SAID)
    with collecting() as collector:
        target = find_target("traces", {}, endpoint=getattr(collector, protocol), protocol=protocol)
        assert target is not None
        queue = create_span_queue(target, spans, version="1.2.3")
        queue.start()
        queue.put(facts)
        queue.close(10)
    (span,) = collector.spans
    assert span.name == "POST /v1/chat/completions"
    resource = attributes(collector.traces[0].resource_spans[0].resource)
    assert resource["service.name"] == "prefixgate"
    assert resource["service.version"] == "1.2.3"
    assert resource["deployment.environment"] == "test"
    assert resource["telemetry.sdk.language"] == "python"


def test_the_service_has_the_name_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """OTEL_SERVICE_NAME names it."""
    monkeypatch.setenv("OTEL_SERVICE_NAME", "gateway-eu")
    body, _ = create_exporters(Aggregate(Labels()), tuple).prometheus()
    ((_, info),) = samples(body)
    assert dict(info)["service_name"] == "gateway-eu"


def test_endpoint_without_the_package_is_an_error(aggregate: Aggregate, monkeypatch: pytest.MonkeyPatch) -> None:
    """An endpoint given on purpose that cannot be served says what to install."""
    monkeypatch.setattr(setup, "entry_points", lambda **_: [])
    with pytest.raises(ConfigError, match="pip install opentelemetry-exporter-otlp-proto-http"):
        create_exporters(aggregate, tuple, otlp=find_target("metrics", {}, endpoint="http://collector:4318"))


def test_variable_without_the_package_is_a_warning(
    aggregate: Aggregate, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A variable that a cluster sets for everyone does not stop the gateway, but it is said."""
    monkeypatch.setattr(setup, "entry_points", lambda **_: [])
    otlp = find_target("metrics", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"})
    exporters = create_exporters(aggregate, tuple, otlp=otlp)
    assert "OTEL_EXPORTER_OTLP_ENDPOINT is set but metrics are not pushed" in caplog.text
    exporters.shutdown()
