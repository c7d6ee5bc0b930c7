"""Measurements in a neutral form: a metric of the catalog and its value per label set, no exporter in sight.

Both exporters are fed from it, and processes can hand it to each other, since it is plain immutable data.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from telemetry.catalog import Metric


@dataclass(frozen=True, slots=True)
class Distribution:
    """A histogram's observations: `counts` per bucket of the metric, one more for those above; their `total`."""

    counts: tuple[int, ...]
    total: float


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
