"""The catalog is well formed, and its page in docs/ is it."""

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from telemetry import catalog
from telemetry.catalog import CATALOG, Metric

ROOT = Path(__file__).parents[2]
ROWS = pytest.mark.parametrize("metric", CATALOG, ids=lambda metric: metric.name)


def test_docs_are_generated_from_the_catalog() -> None:
    """docs/metrics.md is exactly what `python -m telemetry.catalog` prints."""
    command = [sys.executable, "-m", "telemetry.catalog"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    assert printed == (ROOT / "docs" / "metrics.md").read_text()


def test_every_metric_of_the_module_is_listed_once() -> None:
    """No row is forgotten in CATALOG and no name is used twice."""
    rows = [value for value in vars(catalog).values() if isinstance(value, Metric)]
    assert sorted(rows, key=lambda metric: metric.name) == sorted(CATALOG, key=lambda metric: metric.name)
    assert len({metric.name for metric in CATALOG}) == len(CATALOG)


@ROWS
def test_names_carry_neither_unit_nor_total(metric: Metric) -> None:
    """The exporter adds unit and `_total`; an OTel name never has them."""
    assert not metric.name.endswith(("_total", ".total", "_seconds", ".seconds", "_s"))


@ROWS
def test_only_histograms_have_buckets_and_they_ascend(metric: Metric) -> None:
    """A histogram's bounds strictly ascend; nothing else has any."""
    assert bool(metric.buckets) == (metric.kind == "histogram")
    assert all(lower < upper for lower, upper in pairwise(metric.buckets))


@ROWS
def test_no_histogram_carries_the_customer(metric: Metric) -> None:
    """Histograms times customers would make scrapes slow enough to stall streams."""
    assert metric.kind != "histogram" or "customer" not in metric.labels


@ROWS
def test_every_metric_is_bounded_and_explained(metric: Metric) -> None:
    """Each row has a limit, distinct labels and one sentence of help."""
    assert 2 <= metric.limit <= 2000
    assert len(set(metric.labels)) == len(metric.labels) > 0
    assert metric.help.endswith(".")
    assert metric.panel is None or metric.panel


@pytest.mark.parametrize(
    ("metric", "convention"),
    [
        (catalog.HTTP_DURATION, (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)),
        (catalog.REQUEST_DURATION, (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 81.92)),
        (catalog.TTFT, (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)),
        (catalog.TPOT, (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5)),
        (catalog.TOKEN_USAGE, tuple(4**n for n in range(14))),
    ],
    ids=lambda value: value.name if isinstance(value, Metric) else "",
)  # fmt: skip
def test_convention_bounds_are_kept(metric: Metric, convention: tuple[float, ...]) -> None:
    """Bounds the semantic conventions ask for are all there, so that other dashboards work."""
    assert set(convention) <= set(metric.buckets)


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        (catalog.INPUT_TOKENS, "prefixgate_input_tokens_total"),
        (catalog.CACHED_TOKENS, "prefixgate_cached_tokens_total"),
        (catalog.EXPECTED_CACHED_TOKENS, "prefixgate_expected_cached_tokens_total"),
        (catalog.UNREPORTED_INPUT_TOKENS, "prefixgate_unreported_input_tokens_total"),
        (catalog.TTFT, "gen_ai_server_time_to_first_token_seconds"),
        (catalog.TOKEN_USAGE, "gen_ai_client_token_usage"),
        (catalog.WORKER_KV_USAGE, "prefixgate_worker_kv_usage"),
    ],
)
def test_prometheus_names(metric: Metric, name: str) -> None:
    """The names that queries are written against do not drift."""
    assert catalog.prometheus_name(metric) == name
