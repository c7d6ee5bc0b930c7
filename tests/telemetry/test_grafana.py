"""The dashboard in examples/ is the catalog's, and Grafana can lay it out."""

import itertools
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from telemetry.grafana import dashboard
from telemetry.panels import COLLAPSED, SECTIONS, panels

ROOT = Path(__file__).parents[2]


def charts() -> Iterator[dict[str, Any]]:
    """All charts, those within collapsed rows too."""
    for panel in dashboard()["panels"]:
        yield from panel["panels"] if panel["type"] == "row" else [panel]


def test_the_example_is_generated_from_the_catalog() -> None:
    """examples/monitoring/grafana-dashboard.json is exactly what `python -m telemetry.grafana` prints."""
    command = [sys.executable, "-m", "telemetry.grafana"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    assert printed == (ROOT / "examples" / "monitoring" / "grafana-dashboard.json").read_text()


def test_nothing_names_an_installation() -> None:
    """The data source is a variable everywhere, and there is no uid, id or folder of somebody's Grafana."""
    text = json.dumps(dashboard())
    assert set(re.findall(r'"uid": "([^"]*)"', text)) == {"${datasource}"}
    assert "__inputs" not in text
    assert "id" not in dashboard()
    assert "uid" not in dashboard()


def test_every_panel_is_there_once_in_its_row() -> None:
    """The rows are the sections in their order, the engines' one collapsed, and hold all panels."""
    rows = [panel for panel in dashboard()["panels"] if panel["type"] == "row"]
    assert [row["title"] for row in rows] == list(SECTIONS)
    assert {row["title"] for row in rows if row["collapsed"]} == COLLAPSED
    assert [chart["title"] for chart in charts()] == [panel.title for panel in panels()]
    assert next(charts())["title"] == "Where uncached tokens go"


def test_ids_differ_and_nothing_overlaps() -> None:
    """Each panel has an id of its own and a place of its own within 24 columns."""
    top = dashboard()["panels"]
    ids = [panel["id"] for panel in top] + [chart["id"] for row in top for chart in row.get("panels", ())]
    assert len(set(ids)) == len(ids)
    taken: set[tuple[int, int]] = set()
    for panel in (*top, *(chart for row in top for chart in row.get("panels", ()))):
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        columns, lines = range(place["x"], place["x"] + place["w"]), range(place["y"], place["y"] + place["h"])
        cells = set(itertools.product(columns, lines))
        assert not cells & taken
        taken |= cells


def test_variables_that_queries_use_are_defined() -> None:
    """Every $variable is one of the list or Grafana's own, and every variable chooses something."""
    names = {each["name"] for each in dashboard()["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(list(charts()))))
    assert used - {"__rate_interval"} == names
