"""Every metric of the catalog is on the dashboard, and a row of the catalog is enough to be there."""

from collections import Counter

import pytest

from telemetry import catalog, panels
from telemetry.catalog import CATALOG, Metric
from telemetry.panels import SECTIONS, Panel, mentions

SHOWN = pytest.mark.parametrize("metric", [each for each in CATALOG if each.panel], ids=lambda metric: metric.name)
PANELS = pytest.mark.parametrize("panel", panels.panels(), ids=lambda panel: panel.title)


@SHOWN
def test_every_metric_is_read_by_the_panel_it_names(metric: Metric) -> None:
    """A metric is on the panel of its row, or its row says that it is on none."""
    (panel,) = [each for each in panels.panels() if each.title == metric.panel and each.section != "Engines"]
    assert any(mentions(target.query, metric) for target in panel.targets)


@PANELS
def test_a_panel_has_a_section_and_lines_that_differ(panel: Panel) -> None:
    """No panel is empty, outside the sections or twice the same query."""
    assert panel.section in SECTIONS
    assert panel.targets
    assert max(Counter(target.query for target in panel.targets).values()) == 1
    assert all(target.legend for target in panel.targets)


@PANELS
def test_rates_have_the_interval_of_the_dashboard(panel: Panel) -> None:
    """A counter is never shown raw, and no range is fixed: Grafana's interval spans four scrapes or more."""
    for target in panel.targets:
        assert target.query.count("[$__rate_interval]") == target.query.count("rate(")
        assert target.query.count("_total") <= target.query.count("rate(")


@pytest.mark.parametrize(
    ("kind", "labels", "section", "query"),
    [
        ("counter", ("route", "fate"), "Gateway",
         'sum by (route, fate) (rate(prefixgate_new_total{route=~"$route"}[$__rate_interval]))'),
        ("gauge", ("worker",), "Workers", 'prefixgate_new{worker=~"$worker"}'),
        ("gauge", ("prompt_version",), SECTIONS[1], "prefixgate_new"),
        ("histogram", ("fate",), "Gateway",
         "histogram_quantile(0.5, sum by (le) (rate(prefixgate_new_bucket[$__rate_interval])))"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("title", ["A new one", "Queue"])
def test_a_row_of_the_catalog_is_enough(
    monkeypatch: pytest.MonkeyPatch, kind: catalog.Kind, labels: tuple[str, ...], section: str, query: str, title: str
) -> None:
    """A new metric gets its lines on the panel that it names, and the panel where there is none."""
    new = Metric("prefixgate.new", kind, "{thing}", labels, 100, "Things.", title, (1.0,))
    monkeypatch.setattr(panels, "CATALOG", (*CATALOG, new))
    (panel,) = [each for each in panels.panels() if each.title == title]
    assert query in [target.query for target in panel.targets]
    assert panel.section == ("Gateway" if title == "Queue" else section)


def test_queries_read_metrics_of_the_catalog_only() -> None:
    """Outside the engines' section no query reads what prefixgate does not emit."""
    ours = [panel for panel in panels.panels() if panel.section != "Engines"]
    queries = [target.query for panel in ours for target in panel.targets]
    assert all(any(mentions(query, metric) for metric in CATALOG) for query in queries)
