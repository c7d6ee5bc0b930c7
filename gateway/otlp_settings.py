"""Where telemetry is pushed, and which requests are traced: our settings over the standard environment variables.

Metrics go wherever an endpoint is known. Spans are made only for who asks for them: by `tracing`, or by
OTEL_EXPORTER_OTLP_TRACES_ENDPOINT; a general variable that a cluster sets for everyone starts no tracing.
"""

from collections.abc import Mapping
from typing import Annotated, NamedTuple

import msgspec

from prefix.errors import ConfigError
from telemetry.otlp import Protocol, Target, find_target, names_endpoint


class TracingConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """sample_ratio: share of the requests whose client made no decision; one that did is followed. None: all of them,
    if an endpoint for traces is told. endpoint, protocol: None: as for metrics. timeout_s: for one message."""

    sample_ratio: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    endpoint: str | None = None
    protocol: Protocol | None = None
    timeout_s: Annotated[float, msgspec.Meta(gt=0)] | None = None


class Otlp(NamedTuple):
    """metrics, traces: where they go, None: nowhere. ratio: of requests to sample, None: tracing is off."""

    metrics: Target | None
    traces: Target | None
    ratio: float | None


NOTHING_PUSHED = Otlp(None, None, None)


def find_otlp(
    endpoint: str | None, protocol: Protocol | None, tracing: TracingConfig, environ: Mapping[str, str]
) -> Otlp:
    """endpoint, protocol: of metrics, and of traces unless `tracing` has others. Raises ConfigError."""
    metrics = find_target("metrics", environ, endpoint=endpoint, protocol=protocol)
    asked = tracing.endpoint is not None or names_endpoint("traces", environ)
    if not asked and tracing.sample_ratio is None:
        return Otlp(metrics, None, None)
    traces = find_target(
        "traces",
        environ,
        endpoint=tracing.endpoint or (None if names_endpoint("traces", environ) else endpoint),
        protocol=tracing.protocol or protocol,
        timeout_s=tracing.timeout_s,
    )
    if traces is None:
        raise ConfigError("tracing.sample_ratio is set, and there is no endpoint: set tracing.endpoint")
    return Otlp(metrics, traces, 1.0 if tracing.sample_ratio is None else tracing.sample_ratio)
