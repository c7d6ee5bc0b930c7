"""gateway.diagnose.page: pages are subtracted, never mistaken."""

from math import inf

import pytest

from engine_adapter.simulated_histograms import Histograms
from gateway.diagnose.page import grown, level, observed, read_pages
from prefix.errors import EngineError


def test_what_was_observed_between_two_looks() -> None:
    """Counts, sums and buckets are of the window alone, over all pages; quantiles lie in their bucket."""
    histograms = Histograms()
    histograms.observe("queue_time_seconds", 7.0)
    before = read_pages([histograms.page('a="1"')] * 2)
    for value in (0.03, 0.04, 0.3):
        histograms.observe("queue_time_seconds", value)
    found = observed(before, read_pages([histograms.page('a="1"')] * 2), "sglang:queue_time_seconds")
    assert found is not None
    assert (found.count, found.mean) == (6.0, pytest.approx(0.37 / 3))
    assert [row for row in found.rows if row[2]] == [(0.01, 0.05, 4.0), (0.2, 0.5, 2.0)]
    assert 0.01 <= found.quantile(0.5) <= 0.05
    assert 0.2 <= found.quantile(0.99) <= 0.5
    assert found.rows[-1][1] == inf


def test_a_restart_is_unknown_not_negative() -> None:
    """A counter that fell, or is not there, tells nothing."""
    high, low = (read_pages([f"# TYPE c_total counter\nc_total {value}\n"]) for value in (9, 2))
    assert grown(high, low, "c_total") is None
    assert grown(low, high, "c_total") == 7.0
    assert grown(low, high, "other_total") is None


def test_gauges_add_up_over_ranks() -> None:
    """The level of a gauge is that of all ranks; one that is not there is unknown."""
    page = read_pages(['# TYPE g gauge\ng{r="0"} 2\ng{r="1"} 3\ng{r="2"} NaN\n'])
    assert (level(page, "g"), level(page, "h")) == (5.0, None)


def test_no_metrics_page() -> None:
    """Another format is an error of one line."""
    with pytest.raises(EngineError, match="Prometheus"):
        read_pages(["<html>no such page</html>"])
