"""Aggregates out to the world: the only importer of the OpenTelemetry SDK.

The SDK's readers normally collect from instruments. Ours collect from `Aggregate.snapshot` and the workers'
gauges instead, turned into the SDK's public data model (`MetricsData`), so that a request costs no SDK call. The
reader's collect callback is how a MeterProvider does the same thing; it is internal to the SDK, hence the tests
that read both exporters' real output. Nothing global: no provider, no default registry.

Temporality is always cumulative: OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE is not honoured. Spans need the
SDK's resource only (telemetry.span_wire says why).
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import entry_points
from threading import Lock
from typing import Final, cast

from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import Exemplar
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricExporter,
    MetricsData,
    NumberDataPoint,
    PeriodicExportingMetricReader,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.openmetrics import exposition as openmetrics

from prefix.errors import ConfigError
from telemetry import gauges as worker_gauges
from telemetry.aggregate import Aggregate
from telemetry.gauges import WorkerGauges
from telemetry.otlp import PACKAGES, Target
from telemetry.points import Distribution, Family, Seen
from telemetry.senders import make_sender
from telemetry.span_facts import Finished
from telemetry.span_queue import SpanQueue
from telemetry.span_wire import Encoder, Span

TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"

_CUMULATIVE: Final = AggregationTemporality.CUMULATIVE
# Smallest and largest are not kept; the OTLP encoder leaves an absent one off the wire.
_NOT_KEPT: Final = cast("float", None)
_openmetrics: Callable[[CollectorRegistry], bytes] = openmetrics.generate_latest
_log = logging.getLogger(__name__)


class Exporters:
    """What `/metrics` answers and, with an `otlp` exporter, what is pushed every OTEL_METRIC_EXPORT_INTERVAL ms.

    `read` gives all families now. It is called by whoever calls `prometheus` and by the push thread.
    """

    def __init__(
        self, read: Callable[[], Sequence[Family]], *, version: str = "", otlp: MetricExporter | None = None
    ) -> None:
        self._read = read
        self._resource = _resource(version)
        self._scope = InstrumentationScope("prefixgate", version)
        self._started = time.time_ns()
        self._scraping = Lock()
        self._registry = CollectorRegistry()
        self._scrape = PrometheusMetricReader(scope_info_enabled=False, registry=self._registry)
        self._scrape._set_collect_callback(self._collect)
        self._push = None if otlp is None else PeriodicExportingMetricReader(otlp)
        if self._push is not None:
            self._push._set_collect_callback(self._collect)

    def prometheus(self, accept: str | None = None) -> tuple[bytes, str]:
        """Body and content type of a scrape: OpenMetrics 1.0.0 when `accept` names it, else Prometheus 0.0.4."""
        with self._scraping:
            if accept is not None and "application/openmetrics-text" in accept:
                return _openmetrics(self._registry), openmetrics.CONTENT_TYPE_LATEST
            return generate_latest(self._registry), TEXT

    def flush(self) -> None:
        """Pushes now, where OTLP is configured; blocks while it sends."""
        if self._push is not None:
            self._push.force_flush()

    def shutdown(self, timeout_s: float = 5.0) -> None:
        """Pushes the last values and stops; blocks up to `timeout_s`."""
        self._scrape.shutdown()
        if self._push is not None:
            self._push.shutdown(timeout_millis=timeout_s * 1000)

    def _collect(self, *_: object, **__: object) -> MetricsData:
        # The SDK passes the reader and a timeout; a copy of integers needs neither.
        now = time.time_ns()
        metrics = [_metric(family, self._started, now) for family in self._read()]
        scope = ScopeMetrics(self._scope, metrics, schema_url="")
        return MetricsData([ResourceMetrics(self._resource, [scope], schema_url="")])


def create_exporters(
    aggregate: Aggregate,
    gauges: Callable[[], Sequence[WorkerGauges]],
    *,
    queued: Callable[[], Mapping[str, int]] = dict,
    further: Callable[[], Sequence[Family]] = tuple,
    otlp: Target | None = None,
    version: str = "",
) -> Exporters:
    """Exporters over an aggregate and the workers' gauges.

    otlp: where metrics are pushed to, None: nowhere. queued: requests in the gateway's queue by model. further:
    what else is counted, whole families. These and `gauges` must not iterate over a container that another thread
    changes: the push thread calls them too. Raises ConfigError when a setting asks for an exporter that is not
    installed.
    """

    def read() -> Sequence[Family]:
        return (*aggregate.snapshot(), *worker_gauges.families(gauges(), queued()), *further())

    return Exporters(read, version=version, otlp=None if otlp is None else _otlp_exporter(otlp))


def create_span_queue(target: Target, make: Callable[[Finished], list[Span]], *, version: str = "") -> SpanQueue:
    """What delivers spans there. make: the spans of one request, off the event loop. Raises ConfigError."""
    resource = {str(name): str(value) for name, value in _resource(version).attributes.items()}
    return SpanQueue(make, Encoder(resource, ("prefixgate", version)), make_sender(target))


def _resource(version: str) -> Resource:
    """What OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME say, and who we are."""
    found = Resource.create()
    ours = {"service.version": version}
    if str(found.attributes["service.name"]).startswith("unknown_service"):
        ours["service.name"] = "prefixgate"
    return found.merge(Resource(ours))


def _otlp_exporter(target: Target) -> MetricExporter | None:
    found = entry_points(group="opentelemetry_metrics_exporter", name=f"otlp_proto_{target.protocol}")
    if not found:
        missing = f"metrics are not pushed: pip install {PACKAGES[target.protocol]}"
        if target.configured:
            raise ConfigError(f"{target.said_by} {target.url!r}: {missing}")
        _log.warning("%s is set but %s", target.said_by, missing)
        return None
    exporter = next(iter(found)).load()
    return cast("MetricExporter", exporter(endpoint=target.url, timeout=target.timeout_s))


def _metric(family: Family, started: int, now: int) -> Metric:
    metric = family.metric
    return Metric(metric.name, metric.help, metric.unit, _data(family, started, now))


def _data(family: Family, started: int, now: int) -> Sum | Gauge | Histogram:
    numbers: list[NumberDataPoint] = []
    distributions: list[HistogramDataPoint] = []
    for labels, value in family.points:
        named = zip(family.metric.labels, labels, strict=True)
        attributes = {name: label for name, label in named if label}
        if isinstance(value, Distribution):
            distributions.append(_distribution(attributes, started, now, value, family.metric.buckets))
        else:
            numbers.append(NumberDataPoint(attributes, started, now, value))
    match family.metric.kind:
        case "counter":
            return Sum(numbers, _CUMULATIVE, is_monotonic=True)
        case "gauge":
            return Gauge(numbers)
        case "histogram":
            return Histogram(distributions, _CUMULATIVE)


def _distribution(
    attributes: dict[str, str], started: int, now: int, value: Distribution, bounds: Sequence[float]
) -> HistogramDataPoint:
    return HistogramDataPoint(
        attributes,
        started,
        now,
        count=sum(value.counts),
        sum=value.total,
        bucket_counts=value.counts,
        explicit_bounds=bounds,
        min=_NOT_KEPT,
        max=_NOT_KEPT,
        exemplars=[_exemplar(observed, seen) for observed, seen in value.exemplars],
    )


def _exemplar(observed: float, seen: Seen) -> Exemplar:
    return Exemplar({}, observed, int(seen.at * 1e9), int(seen.span_id, 16), int(seen.trace_id, 16))
