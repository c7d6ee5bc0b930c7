"""The rules load, fire when they should and only then, and each alert says what to do."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from telemetry.catalog import CATALOG, prometheus_name
from tests.monitoring.tools import EXAMPLES, promtool, said

RULES = (EXAMPLES / "rules.yml").read_text()
TESTS = (EXAMPLES / "rules_test.yml").read_text()
RUNBOOK = Path(__file__).parents[2] / "docs" / "alerts.md"
COMING = frozenset(("prefixgate_prompt_hit_rate_change", "prefixgate_kv_events_lag_seconds"))
"""Metrics of features that a gateway may lack; the rules say so."""


def alerts() -> Iterator[dict[str, Any]]:
    """The alert rules."""
    for group in yaml.safe_load(RULES)["groups"]:
        yield from (rule for rule in group["rules"] if "alert" in rule)


def metrics_read() -> set[str]:
    """The metrics that rules read, by what their names begin with; recorded ones have a colon."""
    expressions = " ".join(rule["expr"] for group in yaml.safe_load(RULES)["groups"] for rule in group["rules"])
    plain = re.sub(r"prefixgate_\(\?:([^)]*)\)_total", lambda m: " ".join(
        f"prefixgate_{name}_total" for name in m[1].split("|")), expressions)  # fmt: skip
    names = re.findall(r"(?<![\w:])(?:prefixgate|gen_ai|http)_\w+(?![\w:])", plain)
    return {name.removesuffix("_bucket") for name in names} - {"gen_ai_request_model"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "config", "prometheus.yml"),
        ("check", "rules", "--lint=all", "--lint-fatal", "rules.yml"),
        ("test", "rules", "rules_test.yml"),
    ],
    ids=" ".join,
)
def test_promtool_is_content(arguments: tuple[str, ...]) -> None:
    """The configuration and the rules are valid, and every rule test holds."""
    process = promtool(*arguments)
    assert process.returncode == 0, said(process)


def test_every_alert_is_shown_to_fire_and_not_to_fire() -> None:
    """For each alert there is traffic that it fires on and traffic that it does not fire on."""
    cases = [case for test in yaml.safe_load(TESTS)["tests"] for case in test.get("alert_rule_test", ())]
    fired = {case["alertname"] for case in cases if case["exp_alerts"]}
    silent = {case["alertname"] for case in cases if not case["exp_alerts"]}
    assert fired == silent == {rule["alert"] for rule in alerts()}


def test_every_alert_has_a_section_in_the_runbook() -> None:
    """docs/alerts.md has one section per alert with its three questions, and every alert links to its own."""
    each = re.compile(r"^## (Prefixgate\w+)\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
    sections = dict(each.findall(RUNBOOK.read_text()))
    assert set(sections) == {rule["alert"] for rule in alerts()}
    for text in sections.values():
        assert all(f"**{question}**" in text for question in ("Means", "Look at", "Do"))
    for rule in alerts():
        assert rule["annotations"]["runbook_url"].endswith(f"docs/alerts.md#{rule['alert'].lower()}")
        assert rule["labels"]["severity"] in ("warning", "critical")


def test_the_example_lists_every_alert() -> None:
    """The README has a line for each alert, in the order of the rules."""
    listed = re.findall(r"^\| `(Prefixgate\w+)` \|", (EXAMPLES / "README.md").read_text(), re.MULTILINE)
    assert listed == [rule["alert"] for rule in alerts()]


def test_rules_read_metrics_of_the_catalog() -> None:
    """Renaming a metric breaks this test instead of silencing an alert."""
    assert len(metrics_read()) >= 12
    assert metrics_read() - COMING <= {prometheus_name(metric) for metric in CATALOG}


@pytest.mark.slow
@pytest.mark.parametrize("metric", sorted(metrics_read()))
def test_a_renamed_metric_breaks_the_rule_tests(metric: str, tmp_path: Path) -> None:
    """The test of the test: a rule that reads a name nobody emits is found."""
    short = metric.removeprefix("prefixgate_").removesuffix("_total")
    renamed = re.sub(rf"{metric}|(?<=[(:|]){short}(?=[|)])", "gone", RULES)
    assert renamed != RULES
    (tmp_path / "rules.yml").write_text(renamed)
    (tmp_path / "rules_test.yml").write_text(TESTS)
    assert promtool("test", "rules", "rules_test.yml", cwd=tmp_path).returncode == 1
