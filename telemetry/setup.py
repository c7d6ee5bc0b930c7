"""Aggregates out to the world: the only importer of the OpenTelemetry SDK.

The SDK's readers normally collect from instruments. Ours collect from `Aggregate.snapshot` and the workers'
gauges instead, turned into the SDK's public data model (`MetricsData`), so that a request costs no SDK call. The
reader's collect callback is how a MeterProvider does the same thing; it is internal to the SDK, hence the tests
that read both exporters' real output. Nothing global: no provider, no default registry.

Temporality is always cumulative: OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE is not honoured.
"""

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import entry_points
from threading import Lock
from typing import Final, cast

from opentelemetry.exporter.prometheus import PrometheusMetricReader
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
from telemetry.points import Distribution, Family

TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"

_OTLP_PACKAGE: Final = "opentelemetry-exporter-otlp-proto-http"
_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT")
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
        self._resource = Resource.create({"service.name": "prefixgate", "service.version": version})
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
    changes: Callable[[], Mapping[tuple[str, str], float]] = dict,
    otlp_endpoint: str | None = None,
    version: str = "",
) -> Exporters:
    """Exporters over an aggregate and the workers' gauges.

    otlp_endpoint: base URL of a collector (http://host:4318); by default what the OTEL_EXPORTER_OTLP_* variables
    say, and no push without them. queued: requests in the gateway's queue by model. changes: of hit rates by
    route and prompt version. These and `gauges` must not iterate
    over a container that another thread changes: the push thread calls them too. Raises ConfigError when an endpoint
    is given but its exporter is not installed.
    """

    def read() -> Sequence[Family]:
        return (*aggregate.snapshot(), *worker_gauges.families(gauges(), queued(), changes()))

    return Exporters(read, version=version, otlp=_otlp_exporter(otlp_endpoint))


def _otlp_exporter(endpoint: str | None) -> MetricExporter | None:
    configured = next((name for name in _ENDPOINTS if os.environ.get(name)), None)
    if endpoint is None and configured is None:
        return None
    found = entry_points(group="opentelemetry_metrics_exporter", name="otlp_proto_http")
    if not found:
        missing = f"metrics are not pushed: pip install {_OTLP_PACKAGE}"
        if endpoint is not None:
            raise ConfigError(f"OTLP endpoint {endpoint!r}: {missing}")
        _log.warning("%s is set but %s", configured, missing)
        return None
    exporter = next(iter(found)).load()
    url = None if endpoint is None else endpoint.rstrip("/") + "/v1/metrics"
    return cast("MetricExporter", exporter(endpoint=url))


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
    )
