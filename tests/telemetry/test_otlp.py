"""Where a collector is said to be: settings before variables, the signal's before the general ones."""

import pytest

from prefix.errors import ConfigError
from telemetry.otlp import Target, find_target, names_endpoint

BASE, TRACES, METRICS = (f"OTEL_EXPORTER_OTLP_{name}ENDPOINT" for name in ("", "TRACES_", "METRICS_"))


def test_nobody_said() -> None:
    """No endpoint, no target, however much else is said."""
    assert find_target("traces", {"OTEL_EXPORTER_OTLP_HEADERS": "a=b"}, protocol="grpc", timeout_s=3) is None
    assert find_target("traces", {BASE: "", METRICS: "http://m"}) is None


@pytest.mark.parametrize(
    ("environ", "endpoint", "protocol", "url"),
    [
        ({}, "http://c:4318", None, "http://c:4318/v1/traces"),
        ({}, "http://c:4318/", None, "http://c:4318/v1/traces"),
        ({}, "http://c:4317", "grpc", "http://c:4317"),
        ({BASE: "http://e:4318"}, "http://c:4318", None, "http://c:4318/v1/traces"),
        ({BASE: "http://e:4318"}, None, None, "http://e:4318/v1/traces"),
        ({BASE: "http://e:4318/base/"}, None, None, "http://e:4318/base/v1/traces"),
        ({BASE: "http://e:4318", TRACES: "https://t/custom"}, None, None, "https://t/custom"),
        ({BASE: "collector:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, None, None, "https://collector:4317"),
        (
            {BASE: "c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_INSECURE": "true"},
            None,
            None,
            "http://c:4317",
        ),
        (
            {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf"},
            "http://c:4318",
            None,
            "http://c:4318/v1/traces",
        ),
    ],
)
def test_the_url(environ: dict[str, str], endpoint: str | None, protocol: str | None, url: str) -> None:
    """A base URL gets the signal's path over HTTP; a signal's own URL is whole."""
    target = find_target("traces", environ, endpoint=endpoint, protocol=protocol)
    assert target is not None
    assert target.url == url
    assert target.configured == (endpoint is not None)


def test_the_rest_is_told_by_variables() -> None:
    """Headers, timeout, compression and certificates, the signal's own first."""
    environ = {
        "OTEL_EXPORTER_OTLP_HEADERS": "api-key=general",
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "Authorization=Basic%20abc%3D, x-scope = tenant=1,,broken",
        "OTEL_EXPORTER_OTLP_TIMEOUT": "7",
        "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
        "OTEL_EXPORTER_OTLP_CERTIFICATE": "ca.pem",
        "OTEL_EXPORTER_OTLP_CLIENT_KEY": "key.pem",
        "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": "cert.pem",
    }
    assert find_target("traces", environ, endpoint="https://c") == Target(
        "https://c/v1/traces",
        "http",
        "OTLP endpoint",
        7.0,
        (("authorization", "Basic abc="), ("x-scope", "tenant=1")),
        True,
        "ca.pem",
        "key.pem",
        "cert.pem",
    )
    metrics = find_target("metrics", environ, endpoint="https://c", timeout_s=3.0)
    assert metrics is not None
    assert (metrics.headers, metrics.timeout_s) == ((("api-key", "general"),), 3.0)
    assert "Basic abc" not in repr(find_target("traces", environ, endpoint="https://c"))


@pytest.mark.parametrize(
    ("environ", "endpoint", "message"),
    [
        ({}, "collector:4318", r"OTLP endpoint: 'collector:4318' must look like http://collector:4318"),
        ({BASE: "ftp://c"}, None, f"{BASE}: 'ftp://c' must look like"),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, "http://c", "'http/json' is not supported; use grpc or http"),
        ({"OTEL_EXPORTER_OTLP_TIMEOUT": "soon"}, "http://c", "'soon' must be a number of seconds above 0"),
        ({"OTEL_EXPORTER_OTLP_TIMEOUT": "0"}, "http://c", "'0' must be a number"),
        ({"OTEL_EXPORTER_OTLP_TIMEOUT": "inf"}, "http://c", "'inf' must be a number"),
    ],
)
def test_what_cannot_be(environ: dict[str, str], endpoint: str | None, message: str) -> None:
    """It is said at the start, and which setting or variable it is."""
    with pytest.raises(ConfigError, match=message):
        find_target("traces", environ, endpoint=endpoint)


def test_certificates_that_cannot_be_used() -> None:
    """A missing file is an error of the configuration."""
    target = find_target("traces", {"OTEL_EXPORTER_OTLP_CERTIFICATE": "/none.pem"}, endpoint="https://c")
    assert target is not None
    with pytest.raises(ConfigError, match="certificates"):
        target.tls()


def test_asked_for_by_name() -> None:
    """Only a variable of the signal asks for it; the general one may be there for everyone."""
    assert names_endpoint("traces", {TRACES: "http://c"})
    assert not names_endpoint("traces", {BASE: "http://c", METRICS: "http://c"})
