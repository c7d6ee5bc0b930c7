"""Who asks for tracing, and where telemetry goes."""

import pytest

from gateway.otlp_settings import NOTHING_PUSHED, Otlp, TracingConfig, find_otlp
from prefix.errors import ConfigError

GENERAL = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://all:4318"}
TRACES = {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://traces:4318/v1/traces"}


def urls(otlp: Otlp) -> tuple[str | None, str | None, float | None]:
    """Where metrics and traces go, and how many are sampled."""
    return otlp.metrics and otlp.metrics.url, otlp.traces and otlp.traces.url, otlp.ratio


def test_nothing_unless_configured() -> None:
    """No setting, no variable: nothing leaves the gateway."""
    assert find_otlp(None, None, TracingConfig(), {}) == NOTHING_PUSHED


@pytest.mark.parametrize(
    ("endpoint", "tracing", "environ", "expected"),
    [
        ("http://c:4318", TracingConfig(), {}, ("http://c:4318/v1/metrics", None, None)),
        (None, TracingConfig(), GENERAL, ("http://all:4318/v1/metrics", None, None)),
        (None, TracingConfig(), TRACES, (None, "http://traces:4318/v1/traces", 1.0)),
        (
            None,
            TracingConfig(sample_ratio=0.1),
            GENERAL,
            ("http://all:4318/v1/metrics", "http://all:4318/v1/traces", 0.1),
        ),
        (
            "http://c:4318",
            TracingConfig(sample_ratio=0.0),
            {},
            ("http://c:4318/v1/metrics", "http://c:4318/v1/traces", 0.0),
        ),
        (None, TracingConfig(endpoint="http://t:4318"), {}, (None, "http://t:4318/v1/traces", 1.0)),
        (
            "http://c:4318",
            TracingConfig(endpoint="http://t:4318", sample_ratio=0.5),
            GENERAL | TRACES,
            ("http://c:4318/v1/metrics", "http://t:4318/v1/traces", 0.5),
        ),
        (
            "http://c:4318",
            TracingConfig(sample_ratio=0.5),
            TRACES,
            ("http://c:4318/v1/metrics", "http://traces:4318/v1/traces", 0.5),
        ),
        (
            "http://c:4318",
            TracingConfig(endpoint="http://t:4317", protocol="grpc"),
            {},
            ("http://c:4318/v1/metrics", "http://t:4317", 1.0),
        ),
    ],
)
def test_who_asks_for_what(
    endpoint: str | None,
    tracing: TracingConfig,
    environ: dict[str, str],
    expected: tuple[str | None, str | None, float | None],
) -> None:
    """An endpoint for all starts no tracing; a ratio, or an endpoint for traces, does."""
    assert urls(find_otlp(endpoint, None, tracing, environ)) == expected


def test_a_ratio_without_an_endpoint() -> None:
    """Somebody wanted traces and said not where."""
    with pytest.raises(ConfigError, match=r"there is no endpoint: set tracing\.endpoint"):
        find_otlp(None, None, TracingConfig(sample_ratio=0.1), {})
