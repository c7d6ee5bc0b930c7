"""The Grafana dashboard of `telemetry.panels`, as the JSON that Grafana imports.

`python -m telemetry.grafana` prints examples/monitoring/grafana-dashboard.json. Nothing in it names an installation:
the data source is a variable, and there is no uid or id to collide. Format:
https://grafana.com/docs/grafana/latest/visualizations/dashboards/build-dashboards/view-dashboard-json-model/
"""

import json
import sys
from typing import Any, Final

from telemetry import catalog
from telemetry.catalog import Metric, prometheus_name
from telemetry.panels import COLLAPSED, SECTIONS, Panel, panels
from telemetry.promql import label_name

_WIDTH: Final = 24
_HEIGHT: Final = 8
_DATASOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}

Json = dict[str, Any]


def dashboard() -> Json:
    """The dashboard, as JSON values."""
    return {
        "title": "prefixgate",
        "description": "Where prompt tokens go, and why they were not cached. Generated from telemetry/catalog.py.",
        "tags": ["prefixgate", "llm"],
        "schemaVersion": 39,
        "timezone": "browser",
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "graphTooltip": 1,
        "editable": True,
        "templating": {"list": _variables()},
        "panels": _layout(panels()),
    }


def _variables() -> list[Json]:
    source = {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}
    return [
        source,
        _values("model", catalog.REQUEST_DURATION, "gen_ai.request.model", suffix="_count"),
        _values("route", catalog.REQUESTS, "route"),
        _values("worker", catalog.WORKER_UP, "worker"),
    ]


def _values(name: str, metric: Metric, label: str, suffix: str = "") -> Json:
    """A variable with all values of a label, all of them chosen."""
    query = f"label_values({prometheus_name(metric)}{suffix}, {label_name(label)})"
    return {
        "name": name,
        "label": name.capitalize(),
        "type": "query",
        "datasource": _DATASOURCE,
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }


def _layout(all_panels: tuple[Panel, ...]) -> list[Json]:
    """Rows of panels, from left to right and top to bottom; what is collapsed stands in its row's heading."""
    laid: list[Json] = []
    y = 0
    for section in SECTIONS:
        charts, below = _row([panel for panel in all_panels if panel.section == section], y + 1)
        collapsed = section in COLLAPSED
        place = {"x": 0, "y": y, "w": _WIDTH, "h": 1}
        heading = {"type": "row", "title": section, "collapsed": collapsed, "gridPos": place}
        laid += [heading | {"panels": charts}] if collapsed else [heading | {"panels": []}, *charts]
        y = y + 1 if collapsed else below
    return [each | {"id": number} for number, each in enumerate(laid, 1)]


def _row(section: list[Panel], y: int) -> tuple[list[Json], int]:
    """The charts of a section from `y` on, and the first free line below them."""
    charts: list[Json] = []
    x = 0
    for number, panel in enumerate(section):
        if x + panel.width > _WIDTH:
            x, y = 0, y + _HEIGHT
        chart = _chart(panel, {"x": x, "y": y, "w": panel.width, "h": _HEIGHT})
        # Ids within a collapsed row must differ from all others too.
        charts.append(chart | {"id": 1000 + number})
        x += panel.width
    return charts, y + _HEIGHT


def _chart(panel: Panel, place: Json) -> Json:
    stacking = {"mode": "normal" if panel.stacked else "none", "group": "A"}
    drawn = {"fillOpacity": 40 if panel.stacked else 0, "axisSoftMin": 0, "stacking": stacking}
    return {
        "type": "timeseries",
        "title": panel.title,
        "description": panel.about,
        "datasource": _DATASOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": panel.unit, "custom": drawn}, "overrides": []},
        "options": {
            "legend": {"displayMode": "table", "placement": "bottom", "showLegend": True, "calcs": ["lastNotNull"]},
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
        "targets": [
            {
                "refId": chr(ord("A") + number),
                "datasource": _DATASOURCE,
                "expr": target.query,
                "legendFormat": target.legend,
            }
            for number, target in enumerate(panel.targets)
        ],
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(dashboard(), indent=2) + "\n")
