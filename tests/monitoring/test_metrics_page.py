"""What /metrics answers is what Prometheus and the OpenMetrics specification ask for."""

import re

import pytest

from telemetry.catalog import CATALOG, Metric, prometheus_name
from telemetry.points import Distribution, Family, Value
from telemetry.setup import Exporters
from tests.monitoring.tools import promtool, said

PROMETHEUS_ASKS = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)
"""The Accept header of Prometheus 2.42."""


@pytest.fixture
def full() -> Exporters:
    """A page with one point of every metric of the catalog."""
    return Exporters(lambda: [Family(each, ((("x",) * len(each.labels), _value(each)),)) for each in CATALOG])


def _value(metric: Metric) -> Value:
    return Distribution((1,) * (len(metric.buckets) + 1), 1.0) if metric.kind == "histogram" else 1


@pytest.mark.slow
def test_promtool_finds_nothing_wrong(full: Exporters) -> None:
    """Names, types, units and help of every metric are as Prometheus' own linter wants them."""
    page, _ = full.prometheus()
    samples = {line.partition("{")[0] for line in page.decode().splitlines() if not line.startswith("#")}
    names = {prometheus_name(each) + ("_bucket" if each.kind == "histogram" else "") for each in CATALOG}
    assert names <= samples
    process = promtool("check", "metrics", stdin=page)
    assert (process.returncode, said(process)) == (0, "")


@pytest.mark.slow
def test_promtool_would_find_a_bad_name() -> None:
    """The test of the test: a counter without _total is told."""
    process = promtool("check", "metrics", stdin=b"# HELP requests Requests.\n# TYPE requests counter\nrequests 1\n")
    assert process.returncode != 0
    assert "_total" in said(process)


def test_openmetrics_is_as_specified(full: Exporters) -> None:
    """It ends in # EOF; a counter's family has no _total and its sample has; a unit is the end of the name."""
    page = full.prometheus(PROMETHEUS_ASKS)[0].decode()
    assert page.endswith("\n# EOF\n")
    assert page.count("# EOF") == 1
    counters = re.findall(r"^# TYPE (\S+) counter$", page, re.MULTILINE)
    assert counters
    for name in counters:
        assert not name.endswith("_total")
        assert re.search(rf"^{name}_total\{{", page, re.MULTILINE)
    units = dict(re.findall(r"^# UNIT (\S+) (\S+)$", page, re.MULTILINE))
    assert units
    assert all(name.endswith(f"_{unit}") for name, unit in units.items())
    assert set(units.values()) == {"seconds"}
