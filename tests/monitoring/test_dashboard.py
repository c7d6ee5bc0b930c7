"""A real Prometheus scrapes a real run, and every panel of the generated dashboard shows what happened in it."""

import asyncio
import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from engine_adapter.engine_request import EngineConfig
from engine_adapter.simulated_options import EngineOptions
from telemetry.catalog import CACHED_TOKENS, CATALOG, INPUT_TOKENS, UNCACHED_TOKENS, Metric, prometheus_name
from telemetry.panels import mentions
from tests.gateway.shared.redis_server import fleet, redis_server
from tests.monitoring.prometheus import SCRAPE_S, Prometheus, scraping
from tests.monitoring.tools import EXAMPLES, promtool, said
from tests.monitoring.traffic import CUSTOMERS, SETTINGS, Seen, expected_failures, lap
from tests.monitoring.vllm_page import vllm_page
from tests.soak.faults import FailingEngine

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

ALLOWED_EMPTY: Final = {
    "prefixgate_prompt_hit_rate_change": "a comparison needs sixteen stretches of ten seconds",
}
"""Metrics that so short a run cannot have, and why; targets that read them are empty."""
ENGINES: Final = 3
TOKEN: Final = "an admin token"
EXTRAPOLATION: Final = 0.01
"""Prometheus extends what it saw to the ends of the range, but no counter below zero, so series differ a little."""
_QUIET_S: Final = 2.5 * SCRAPE_S


@dataclass(frozen=True, slots=True)
class Query:
    """One target of the dashboard, as Grafana sends it with every variable at All."""

    panel: str
    expr: str

    def over(self, seconds: float) -> str:
        """The query with the range that Grafana would take."""
        return self.expr.replace("$__rate_interval", f"{seconds:.0f}s")


@dataclass(frozen=True, slots=True)
class Run:
    """What was scraped. The second lap lies between start and end, with quiet scrapes on both sides.

    cached, prompt: tokens of that lap as the engines counted them themselves.
    """

    prometheus: Prometheus
    start: float
    end: float
    seen: Seen
    cached: int
    prompt: int
    page: bytes

    def value(self, panel: str, number: int = 0) -> float:
        """The one number of a target over the lap."""
        expr = [query for query in queries() if query.panel == panel][number].over(self.end - self.start)
        ((_, value),) = self.prometheus.at(expr, self.end)
        return value


def queries() -> list[Query]:
    """Every target of the dashboard in examples/, in its order."""
    board: dict[str, Any] = json.loads((EXAMPLES / "grafana-dashboard.json").read_text())
    charts = [chart for panel in board["panels"] for chart in (panel, *panel.get("panels", ())) if "targets" in chart]
    variables = [each["name"] for each in board["templating"]["list"]]
    every = re.compile(rf"\$(?:{'|'.join(variables)})\b")
    return [Query(chart["title"], every.sub(".*", target["expr"])) for chart in charts for target in chart["targets"]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """The run, scraped and over; Prometheus still answers."""
    with ExitStack() as stack:
        yield asyncio.run(_scraped(stack, tmp_path_factory.mktemp("prometheus")))


async def _scraped(stack: ExitStack, folder: Path) -> Run:
    config = EngineConfig(kv_capacity_tokens=20_000)
    async with AsyncExitStack() as servers:
        engines = [
            await servers.enter_async_context(FailingEngine(EngineOptions(model="m", config=config, kv_events=0)))
            for _ in range(ENGINES)
        ]
        vllm = await servers.enter_async_context(vllm_page())
        redis = await servers.enter_async_context(redis_server())
        gateway, _ = await servers.enter_async_context(fleet(redis, 2, *engines, admin_token=TOKEN, **SETTINGS))
        ours, theirs = f"127.0.0.1:{gateway.port}", [f"127.0.0.1:{engine.port}" for engine in engines]
        starting = scraping({"prefixgate": [ours], "engines": [*theirs, vllm]}, TOKEN, folder)
        prometheus = await asyncio.to_thread(stack.enter_context, starting)
        await lap(gateway, "first")  # from here on every series is there, so that none begins in the middle
        await asyncio.sleep(_QUIET_S)
        start, before = time.time(), _counted(engines)
        await asyncio.sleep(_QUIET_S)
        seen = await lap(gateway, "second")
        await asyncio.sleep(_QUIET_S)
        cached, prompt = (now - then for now, then in zip(_counted(engines), before, strict=True))
        async with gateway.http.get("/metrics", headers={"authorization": f"Bearer {TOKEN}"}) as response:
            page = await response.read()
        return Run(prometheus, start, time.time(), seen, cached, prompt, page)


def _counted(engines: list[FailingEngine]) -> tuple[int, int]:
    """Cached tokens and prompt tokens of all engines, by their own count."""
    totals = [engine.totals for engine in engines]
    return sum(each.cached_tokens for each in totals), sum(each.prompt_tokens for each in totals)


def empty_targets(run: Run, change: Callable[[str], str] = lambda query: query) -> set[Query]:
    """Targets that no sample comes back for, but those that are allowed to be empty."""
    return {
        query
        for query in queries()
        if not any(name in query.expr for name in ALLOWED_EMPTY)
        and not run.prometheus.between(change(query.over(4 * SCRAPE_S)), run.start, run.end)
    }


def test_the_run_is_what_it_was_meant_to_be(run: Run) -> None:
    """More than 200 requests; those fail that were told to, some are over a limit, some customers have no label."""
    assert run.seen.requests > 200
    assert run.seen.failed == expected_failures()
    assert run.seen.limited > 10
    labels = {labels["customer"] for labels, _ in run.prometheus.at("prefixgate_input_tokens_total", run.end)}
    assert "other" in labels
    assert len(labels) < CUSTOMERS


def test_every_target_is_scraped(run: Run) -> None:
    """Prometheus reads the gateway and the engines, and finds no fault with what they answer."""
    targets = run.prometheus.get("targets")["activeTargets"]
    assert len(targets) == ENGINES + 2
    up = run.prometheus.between("up", run.start, run.end - _QUIET_S)
    assert {value for _, value in up} == {1.0}


def test_every_target_of_the_dashboard_returns_samples(run: Run) -> None:
    """No panel is empty, but those that are named with a reason, and these are."""
    assert empty_targets(run) == set()
    for name in ALLOWED_EMPTY:
        assert not run.prometheus.between(name, run.start, run.end)


@pytest.mark.parametrize("metric", [each for each in CATALOG if each.panel], ids=lambda metric: metric.name)
def test_a_renamed_metric_is_noticed(run: Run, metric: Metric) -> None:
    """The test of the test: with one metric under another name, panels are empty."""
    name = re.compile(rf"\b{prometheus_name(metric)}(?=_bucket|_count|_sum|\b)")
    reading = {query for query in queries() if mentions(query.expr, metric)}
    assert reading
    if prometheus_name(metric) not in ALLOWED_EMPTY:
        assert empty_targets(run, lambda query: name.sub("gone", query)) == reading


def test_the_hit_rate_is_the_engines_own(run: Run) -> None:
    """The hit rate on the dashboard is what the engines counted, within 1 %."""
    assert run.prompt > 50_000
    assert run.value("Cache hit rate") == pytest.approx(run.cached / run.prompt, rel=EXTRAPOLATION)


def test_uncached_tokens_add_up(run: Run) -> None:
    """The reasons stacked on the first panel add up to what the hit rate leaves over, exactly."""
    ours = [prometheus_name(metric) for metric in (UNCACHED_TOKENS, INPUT_TOKENS, CACHED_TOKENS)]
    lost, prompt, cached = (run.prometheus.at(f"sum({name})", run.end)[0][1] for name in ours)
    assert lost == prompt - cached > 10_000


def test_the_error_ratio_is_what_was_injected(run: Run) -> None:
    """Failures on the dashboard are those that were asked for, of all requests; refusals and leavers are none."""
    assert run.value("Error ratio") == pytest.approx(expected_failures() / run.seen.requests, rel=EXTRAPOLATION)


def test_engines_have_their_colon_back(run: Run) -> None:
    """Engines' metrics are stored under the names their makers document, however they were spelled on the wire."""
    names = run.prometheus.get("label/__name__/values")
    assert {"sglang:token_usage", "vllm:num_requests_running", "vllm:prefix_cache_hits_total"} <= set(names)
    assert not [name for name in names if name.startswith(("sglang_", "vllm_"))]


def test_every_rule_runs(run: Run) -> None:
    """The example's rules evaluate on real metrics without an error, and those of the service have a value."""
    rules = [rule for group in run.prometheus.get("rules")["groups"] for rule in group["rules"]]
    assert [rule for rule in rules if rule["health"] != "ok"] == []
    assert len(rules) > 25
    for name in ("prefixgate:errors:ratio_rate5m", "route:prefixgate_hit_ratio:rate30m"):
        assert run.prometheus.at(name, run.end)


def test_promtool_finds_nothing_wrong_with_the_page(run: Run) -> None:
    """Names, units and help of a full page are as Prometheus' own linter wants them."""
    process = promtool("check", "metrics", stdin=run.page)
    assert (process.returncode, said(process)) == (0, "")
