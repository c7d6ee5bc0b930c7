"""PromQL about the metrics of the catalog, with Grafana's variables in it.

One idea: a query is made from a catalog row, never typed, so that renaming a metric renames it everywhere. Ratios are
always of counters' rates, and a ratio over nothing is no point instead of NaN (unknown is not zero). Ranges are
`$__rate_interval`, which Grafana keeps at four scrapes or more.
"""

from collections.abc import Sequence
from typing import Final

from telemetry.catalog import Metric, prometheus_name

INTERVAL: Final = "$__rate_interval"
VARIABLES: Final = {"route": "route", "worker": "worker", "gen_ai.request.model": "model"}
"""Label of the catalog to the variable of the dashboard that chooses its values."""


def label_name(label: str) -> str:
    """A label as Prometheus has it."""
    return label.replace(".", "_")


def series(metric: Metric, *conditions: str, suffix: str = "") -> str:
    """The metric's series that the dashboard's variables and the conditions choose."""
    chosen = [f'{label_name(label)}=~"${VARIABLES[label]}"' for label in metric.labels if label in VARIABLES]
    matchers = ",".join((*chosen, *conditions))
    return prometheus_name(metric) + suffix + (f"{{{matchers}}}" if matchers else "")


def total(query: str, by: Sequence[str] = ()) -> str:
    """The sum, for each of `by`."""
    return f"sum by ({', '.join(map(label_name, by))}) ({query})" if by else f"sum({query})"


def by_worker(operator: str, metric: Metric) -> str:
    """One line per worker of a gauge that each of several gateways may have of it."""
    return f"{operator} by (worker) ({series(metric)})"


def rate(metric: Metric, *conditions: str, by: Sequence[str] = (), suffix: str = "") -> str:
    """What a counter grew by per second."""
    return total(f"rate({series(metric, *conditions, suffix=suffix)}[{INTERVAL}])", by)


def ratio(part: str, whole: str) -> str:
    """Part of whole; nothing where the whole is zero."""
    return f"{part} / ({whole} > 0)"


def quantile(share: float, metric: Metric, by: Sequence[str] = ()) -> str:
    """A quantile of a histogram; NaN where nothing was observed."""
    return f"histogram_quantile({share:g}, {rate(metric, by=('le', *by), suffix='_bucket')})"
