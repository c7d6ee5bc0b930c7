"""Measurements in a neutral form: a metric of the catalog and its value per label set, no exporter in sight.

Both exporters are fed from it, and processes can hand it to each other, since it is plain immutable data.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from telemetry.catalog import Metric


class Seen(NamedTuple):
    """A sampled request: its trace and span (hex), and when it ended, seconds since the epoch."""

    trace_id: str
    span_id: str
    at: float


@dataclass(frozen=True, slots=True)
class Distribution:
    """A histogram's observations: `counts` per bucket of the metric, one more for those above; their `total`.

    exemplars: an observed value of a bucket, and the request that it was observed in; of buckets that have one.
    """

    counts: tuple[int, ...]
    total: float
    exemplars: tuple[tuple[float, Seen], ...] = ()


Value = int | float | Distribution


@dataclass(frozen=True, slots=True)
class Family:
    """A metric and its points: label values in the order of `metric.labels` ("" says nothing), and the value."""

    metric: Metric
    points: tuple[tuple[tuple[str, ...], Value], ...]


def by_label(metric: Metric, counts: Mapping[str, Value]) -> Family:
    """A metric with one label, from the values by that label."""
    return by_labels(metric, {(label,): value for label, value in counts.items()})


def by_labels(metric: Metric, values: Mapping[tuple[str, ...], Value]) -> Family:
    """A metric from its values by label set; those past its limit have no point."""
    return Family(metric, tuple(values.items())[: metric.limit])
