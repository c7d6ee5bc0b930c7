"""What the dashboard shows: its panels, in their order, with a query for every metric of the catalog that names one.

A row of the catalog is enough for a metric to be shown. Names its `panel` one of these, which has no query of it yet,
the metric's own lines (`_own`, by kind) are added there; names it another, that panel is made, in the section that
its labels suggest (`_section`). What is written here is what one row cannot say: which metrics make a ratio, what is
stacked, and the order.

Only our own metrics are in the first sections: an engine's names depend on its kind, its version and even on how it
was scraped (a colon comes through OpenMetrics as `_`), so engines have a section that reads both spellings.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal

from telemetry import catalog
from telemetry.catalog import CATALOG, Metric, prometheus_name
from telemetry.promql import INTERVAL, by_worker, label_name, quantile, rate, ratio, series, total

SECTIONS: Final = ("Overview", "Routes, customers and prompt versions", "Latency", "Workers", "Gateway", "Engines")
COLLAPSED: Final = frozenset({"Engines"})

FAILED: Final = ('outcome!~"ok|client_disconnect"', 'status_class=~"2xx|5xx"')
"""Requests that failed by no fault of the client's: 5xx, and streams that began and broke."""

Unit = Literal["short", "percentunit", "s", "reqps", "none"]


@dataclass(frozen=True, slots=True)
class Target:
    """One query and how its lines are called."""

    query: str
    legend: str


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart. width: of 24. about: what it says, in a sentence."""

    title: str
    section: str
    unit: Unit
    targets: tuple[Target, ...] = ()
    about: str = ""
    stacked: bool = False
    width: int = 8


def _quantiles(metric: Metric, what: str = "", shares: tuple[float, ...] = (0.5, 0.95, 0.99)) -> tuple[Target, ...]:
    return tuple(Target(quantile(share, metric), f"{what}p{share * 100:g}") for share in shares)


def _hit_rate(*by: str) -> str:
    return ratio(rate(catalog.CACHED_TOKENS, by=by), rate(catalog.INPUT_TOKENS, by=by))


def _uncached(*by: str) -> str:
    return f"{rate(catalog.INPUT_TOKENS, by=by)} - {rate(catalog.CACHED_TOKENS, by=by)}"


_REQUESTS: Final = rate(catalog.REQUESTS)
# No failure yet is no series, which is zero failures of what was served.
_FAILURES: Final = f"({rate(catalog.REQUESTS, *FAILED)} or 0 * {_REQUESTS})"
_ACTIVE: Final = by_worker("sum", catalog.WORKER_ACTIVE)


def _engine(name: str, *conditions: str) -> str:
    """An engine's series, however the colon in its name came through; `name` is `sglang:token_usage`."""
    either = f'__name__=~"{name.replace(":", "[:_]", 1)}"'
    return f"{{{','.join((either, *conditions))}}}"


def _engine_rate(name: str, *conditions: str, by: str = "instance") -> str:
    return total(f"rate({_engine(name, *conditions)}[{INTERVAL}])", (by,))


_DESIGNED: Final = (
    Panel("Where uncached tokens go", "Overview", "short", width=12, stacked=True, targets=(
        Target(rate(catalog.UNCACHED_TOKENS, by=("reason",)), "{{reason}}"),
    ), about="Tokens a second that engines computed, by why (docs/misses.md)."),
    Panel("Cache hit rate", "Overview", "percentunit", width=12, targets=(
        Target(_hit_rate(), "hit rate"),
        Target(ratio(rate(catalog.STABLE_TOKENS), rate(catalog.INPUT_TOKENS)), "shared by the route (estimate)"),
    ), about="Cached of all prompt tokens whose cached count is known."),
    Panel("Requests by outcome", "Overview", "reqps", stacked=True, targets=(
        Target(rate(catalog.REQUESTS, by=("outcome", "error.type")), "{{outcome}} {{error_type}}"),
    )),
    Panel("Error ratio", "Overview", "percentunit", targets=(
        Target(ratio(_FAILURES, _REQUESTS), "errors"),
    ), about="Failed by no fault of the client's: 5xx and broken streams, of all requests."),
    Panel("Tokens per second", "Overview", "short", targets=(
        Target(rate(catalog.INPUT_TOKENS), "prompt"),
        Target(rate(catalog.CACHED_TOKENS), "cached"),
        Target(rate(catalog.OUTPUT_TOKENS), "answer"),
        Target(rate(catalog.UNREPORTED_INPUT_TOKENS), "prompt, cached count unknown"),
    )),
    Panel("Hit rate by route", SECTIONS[1], "percentunit", targets=(Target(_hit_rate("route"), "{{route}}"),)),
    Panel("Hit rate by prompt version", SECTIONS[1], "percentunit", targets=(
        Target(_hit_rate("route", "prompt_version"), "{{route}} {{prompt_version}}"),
    ), about="What a deploy did to the cache."),
    Panel("Hit rate by customer", SECTIONS[1], "percentunit", targets=(
        Target(_hit_rate("customer"), "{{customer}}"),
    )),
    Panel("Uncached tokens by prompt version, top 10", SECTIONS[1], "short", width=12, targets=(
        Target(f"topk(10, {_uncached('route', 'prompt_version')})", "{{route}} {{prompt_version}}"),
    )),
    Panel("Uncached tokens by customer, top 10", SECTIONS[1], "short", width=12, targets=(
        Target(f"topk(10, {_uncached('customer')})", "{{customer}}"),
    )),
    Panel("Time to first token", "Latency", "s", _quantiles(catalog.TTFT)),
    Panel("Time per output token", "Latency", "s", _quantiles(catalog.TPOT)),
    Panel("End-to-end latency", "Latency", "s", _quantiles(catalog.REQUEST_DURATION)),
    Panel("Prompt and answer lengths", "Latency", "short", width=24, targets=(
        Target(quantile(0.5, catalog.TOKEN_USAGE, ("gen_ai.token.type",)), "{{gen_ai_token_type}} p50"),
        Target(quantile(0.95, catalog.TOKEN_USAGE, ("gen_ai.token.type",)), "{{gen_ai_token_type}} p95"),
    )),
    Panel("Load by worker", "Workers", "short", targets=(
        Target(by_worker("max", catalog.WORKER_RUNNING), "{{worker}} running"),
        Target(by_worker("max", catalog.WORKER_QUEUED), "{{worker}} waiting"),
        Target(_ACTIVE, "{{worker}} open here"),
    )),
    Panel("Hottest worker", "Workers", "short", targets=(
        Target(ratio(f"max({_ACTIVE})", f"avg({_ACTIVE})"), "busiest / mean"),
    ), about="Open requests of the busiest worker over the mean: 1 is even."),
    Panel("KV cache usage", "Workers", "percentunit", targets=(
        Target(by_worker("max", catalog.WORKER_KV_USAGE), "{{worker}}"),
    )),
    Panel("Predicted and delivered", "Workers", "percentunit", targets=(
        Target(
            ratio(rate(catalog.CACHED_TOKENS, by=("route",)), rate(catalog.EXPECTED_CACHED_TOKENS, by=("route",))),
            "{{route}}",
        ),
    ), about="Cached tokens delivered of those predicted at dispatch: far below 1, the index believes too much."),
    Panel("Workers", "Workers", "short", targets=(
        Target(by_worker("min", catalog.WORKER_UP), "{{worker}} up"),
        Target(by_worker("max", catalog.WORKER_BREAKER), "{{worker}} breaker open"),
    )),
    Panel("Route reasons", "Workers", "reqps", stacked=True, targets=(
        Target(rate(catalog.ROUTE_DECISIONS, by=("reason",)), "{{reason}}"),
    )),
    Panel("Prefix index", "Workers", "short", targets=(
        Target(by_worker("max", catalog.INDEX_BLOCKS), "{{worker}}"),
    )),
    Panel("Gateway overhead", "Gateway", "s", _quantiles(catalog.OVERHEAD)),
    Panel("Queue", "Gateway", "short", targets=(
        Target(total(series(catalog.QUEUED), ("gen_ai.request.model",)), "{{gen_ai_request_model}} waiting"),
    )),
    Panel("Time in the queue", "Gateway", "s", _quantiles(catalog.QUEUE_DURATION)),
    Panel("Retries and rewrites", "Gateway", "short", targets=(
        Target(rate(catalog.RETRIES, by=("route",)), "{{route}} retries"),
        Target(rate(catalog.REWRITES, by=("route",)), "{{route}} rewrites"),
    )),
    Panel("Rate limits", "Gateway", "reqps", targets=(
        Target(rate(catalog.RATE_LIMITED, by=("customer", "limit")), "{{customer}} {{limit}}"),
    )),
    Panel("Requests", "Engines", "short", targets=(
        Target(_engine("sglang:num_running_reqs"), "{{instance}} running"),
        Target(_engine("sglang:num_queue_reqs"), "{{instance}} waiting"),
        Target(_engine("vllm:num_requests_running"), "{{instance}} running"),
        Target(_engine("vllm:num_requests_waiting"), "{{instance}} waiting"),
    )),
    Panel("KV cache in use", "Engines", "percentunit", targets=(
        Target(_engine("sglang:token_usage"), "{{instance}}"),
        Target(_engine("vllm:(?:gpu|kv)_cache_usage_perc"), "{{instance}}"),
    ), about="SGLang counts running requests only: what is cached and idle is not in use."),
    Panel("Hit rate, as engines count it", "Engines", "percentunit", targets=(
        Target(
            ratio(
                _engine_rate("sglang:cached_tokens_total", 'cache_source!="total"'),
                _engine_rate("sglang:prompt_tokens_total"),
            ),
            "{{instance}}",
        ),
        Target(
            ratio(_engine_rate("vllm:prefix_cache_hits_total"), _engine_rate("vllm:prefix_cache_queries_total")),
            "{{instance}}",
        ),
    )),
    Panel("Cached tokens by source", "Engines", "short", targets=(
        Target(
            _engine_rate("sglang:cached_tokens_total", 'cache_source!="total"', by="cache_source"), "{{cache_source}}"
        ),
    )),
    Panel("Evicted tokens, preemptions", "Engines", "short", targets=(
        Target(_engine_rate("sglang:evicted_tokens_total"), "{{instance}} evicted tokens"),
        Target(_engine_rate("vllm:num_preemptions_total"), "{{instance}} preemptions"),
    )),
)  # fmt: skip


def panels() -> tuple[Panel, ...]:
    """Every panel in its order: the designed ones and those that rows of the catalog ask for."""
    made = {panel.title: panel for panel in _DESIGNED}
    for metric in CATALOG:
        if metric.panel is None:
            continue
        panel = made.get(metric.panel) or Panel(metric.panel, _section(metric), _unit(metric), about=metric.help)
        if not any(mentions(target.query, metric) for target in panel.targets):
            panel = replace(panel, targets=(*panel.targets, *_own(metric)))
        made[metric.panel] = panel
    return tuple(sorted(made.values(), key=lambda panel: SECTIONS.index(panel.section)))


def mentions(query: str, metric: Metric) -> bool:
    """Whether a query reads the metric."""
    return re.search(rf"\b{prometheus_name(metric)}(?:_bucket|_count|_sum)?\b", query) is not None


def _own(metric: Metric) -> Iterator[Target]:
    """A metric's own lines: how fast a counter grows, a gauge as it is, a histogram's quantiles."""
    name = metric.name.rpartition(".")[2].replace("_", " ")
    labels = " ".join(f"{{{{{label_name(label)}}}}}" for label in metric.labels)
    if metric.kind == "histogram":
        yield from _quantiles(metric, f"{name} ")
    else:
        query = rate(metric, by=metric.labels) if metric.kind == "counter" else series(metric)
        yield Target(query, f"{name} {labels}")


def _section(metric: Metric) -> str:
    if "worker" in metric.labels:
        return "Workers"
    return SECTIONS[1] if {"customer", "prompt_version"} & {*metric.labels} else "Gateway"


def _unit(metric: Metric) -> Unit:
    units: dict[str, Unit] = {"s": "s", "1": "percentunit"}
    return units.get(metric.unit, "short")
