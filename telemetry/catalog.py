"""Every metric prefixgate emits, one row each: name, kind, unit, labels, buckets, limit, help, panel.

Names and buckets follow the OpenTelemetry semantic conventions 1.41 (`gen_ai.*` is still "Development", so the
strings live here and are never imported); `prefixgate.*` is ours. A row's `limit` is the number of label sets
kept before further ones are counted together under `other`. `python -m telemetry.catalog` prints docs/metrics.md.
"""

import sys
from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["counter", "gauge", "histogram"]

_HTTP_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
_REQUEST_SECONDS: Final = tuple(0.01 * 2**i for i in range(14))
# The convention's list is a SHOULD and doubles coarsely from 0.1 on; 0.15 to 0.4 tell cached from cold prompts.
_TTFT_SECONDS: Final = (
    *(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4),
    *(0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0),
)
_TPOT_SECONDS: Final = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5)
_OVERHEAD_SECONDS: Final = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1)
_TOKENS: Final = tuple(float(4**i) for i in range(14))

_TRAFFIC: Final = ("route", "customer", "prompt_version")
_OUTCOME: Final = ("route", "customer", "outcome", "error.type", "status_class")
_DECISION: Final = ("policy", "reason", "worker")
_HTTP: Final = ("http.route", "http.response.status_code", "error.type")
_MODEL: Final = ("gen_ai.operation.name", "gen_ai.request.model", "route")

OPERATIONS: Final = {
    "/v1/chat/completions": "chat",
    "/v1/responses": "chat",
    "/v1/messages": "chat",
    "/v1/completions": "text_completion",
    "/generate": "text_completion",
    "/v1/embeddings": "embeddings",
}
"""Path -> `gen_ai.operation.name`; other paths ask no model for anything."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric. `buckets` are inclusive upper bounds in `unit`, for histograms only; `panel` titles the
    dashboard panel that shows it (telemetry.panels: one that is there, or a new one), None when it feeds none."""

    name: str
    kind: Kind
    unit: str
    labels: tuple[str, ...]
    limit: int
    help: str
    panel: str | None
    buckets: tuple[float, ...] = ()


# One row is one metric, two lines wide: what it is, then what it means and where it is shown.
# fmt: off
INPUT_TOKENS: Final = Metric("prefixgate.input_tokens", "counter", "{token}", _TRAFFIC, 2000,
    "Prompt tokens, cached ones included, of requests whose cached count is known.", "Cache hit rate")
CACHED_TOKENS: Final = Metric("prefixgate.cached_tokens", "counter", "{token}", _TRAFFIC, 2000,
    "Prompt tokens the engine reported as read from its prefix cache.", "Cache hit rate")
EXPECTED_CACHED_TOKENS: Final = Metric("prefixgate.expected_cached_tokens", "counter", "{token}", _TRAFFIC, 2000,
    "Cached tokens predicted at dispatch, of requests whose cached count is known.", "Predicted and delivered")
UNREPORTED_INPUT_TOKENS: Final = Metric("prefixgate.unreported_input_tokens", "counter", "{token}", _TRAFFIC, 2000,
    "Prompt tokens of requests whose cached count is unknown; not in input_tokens.", "Tokens per second")
STABLE_TOKENS: Final = Metric("prefixgate.stable_tokens", "counter", "{token}", _TRAFFIC, 2000,
    "Prompt tokens that are tools, leading system text or otherwise shared by the route's traffic, of the requests "
    "behind input_tokens (an estimate).", "Cache hit rate")
UNCACHED_TOKENS: Final = Metric("prefixgate.uncached_tokens", "counter", "{token}", (*_TRAFFIC, "reason"), 2000,
    "Prompt tokens that engines computed, by why: page, stale, evicted, routed_away, isolated, divergent, new; they "
    "add up to input_tokens - cached_tokens (docs/misses.md).", "Where uncached tokens go")
HIT_RATE_CHANGE: Final = Metric("prefixgate.prompt.hit_rate_change", "gauge", "1", ("route", "prompt_version"), 2000,
    "Hit rate of a prompt version less that of its predecessor, once there is enough data (docs/prompt-versions.md).",
    "Hit rate against the version before")
OUTPUT_TOKENS: Final = Metric("prefixgate.output_tokens", "counter", "{token}", _TRAFFIC, 2000,
    "Tokens generated, where the engine reported them.", "Tokens per second")
USAGE_ANOMALIES: Final = Metric("prefixgate.usage.anomalies", "counter", "{request}", ("worker", "anomaly"), 1000,
    "Requests whose engine reported token counts that cannot be, or that contradict each other.",
    "Odd token reports")
REQUESTS: Final = Metric("prefixgate.requests", "counter", "{request}", _OUTCOME, 2000,
    "Finished requests by how they ended.", "Requests by outcome")
RATE_LIMITED: Final = Metric("prefixgate.rate_limited", "counter", "{request}", ("customer", "limit"), 2000,
    "Requests refused because their customer reached a limit: requests, tokens or concurrency.",
    "Rate limits")
RETRIES: Final = Metric("prefixgate.retries", "counter", "{retry}", ("route",), 100,
    "Attempts repeated on another worker before the first byte.", "Retries and rewrites")
REWRITES: Final = Metric("prefixgate.rewrites", "counter", "{rewrite}", ("route",), 100,
    "Changes that canonicalization made to request bodies.", "Retries and rewrites")
HOIST_SAVED: Final = Metric("prefixgate.hoist.saved_tokens", "counter", "{token}", ("route",), 100,
    "What moving volatile spans out of the system text saves, or would save where it is only reported (estimate).",
    "Saved by hoisting")
ROUTE_DECISIONS: Final = Metric("prefixgate.route.decisions", "counter", "{decision}", _DECISION, 1000,
    "Requests sent to a worker, by routing policy and its reason.", "Route reasons")
HTTP_DURATION: Final = Metric("http.server.request.duration", "histogram", "s", _HTTP, 100,
    "Time from a request's arrival to the end of its response.", None, _HTTP_SECONDS)
REQUEST_DURATION: Final = Metric("gen_ai.server.request.duration", "histogram", "s", (*_MODEL, "error.type"), 200,
    "Time from a model request's arrival to its last token.", "End-to-end latency", _REQUEST_SECONDS)
CLIENT_DURATION: Final = Metric("gen_ai.client.operation.duration", "histogram", "s", (*_MODEL, "error.type"), 200,
    "Time from a model request's first dispatch to an engine to the end of the answer, further attempts included. "
    "Without server.address: one histogram per worker is dear to scrape; traces have it.", None, _REQUEST_SECONDS)
TTFT: Final = Metric("gen_ai.server.time_to_first_token", "histogram", "s", _MODEL, 200,
    "Time to the first token of successful streamed responses.", "Time to first token", _TTFT_SECONDS)
TPOT: Final = Metric("gen_ai.server.time_per_output_token", "histogram", "s", _MODEL, 200,
    "(duration - time to first token) / (output tokens - 1) of successful streamed responses.",
    "Time per output token", _TPOT_SECONDS)
TOKEN_USAGE: Final = Metric("gen_ai.client.token.usage", "histogram", "{token}", (*_MODEL, "gen_ai.token.type"), 400,
    "Tokens per request: input (cached ones included) and output, where reported.", "Prompt and answer lengths",
    _TOKENS)
OVERHEAD: Final = Metric("prefixgate.overhead.duration", "histogram", "s", ("route",), 100,
    "Time the gateway itself added to a request.", "Gateway overhead", _OVERHEAD_SECONDS)
QUEUE_DURATION: Final = Metric("prefixgate.queue.duration", "histogram", "s", ("route",), 100,
    "Time in the gateway's queue of the requests that waited and were served.", "Time in the queue", _TTFT_SECONDS)
QUEUED: Final = Metric("prefixgate.queue.requests", "gauge", "{request}", ("gen_ai.request.model",), 200,
    "Requests waiting in the gateway because no worker can take them. Those refused count as error.type "
    "`overloaded` in prefixgate.requests.", "Queue")
CAPTURES: Final = Metric("prefixgate.captures", "counter", "{capture}", ("outcome",), 10,
    "Requests to be captured, by what became of it: written, too_large, queue_full, failed (docs/captures.md).", None)
SPANS: Final = Metric("prefixgate.spans", "counter", "{span}", ("outcome",), 10,
    "Spans by what became of them: sent, dropped because too many waited, failed to be delivered (docs/tracing.md).",
    None)
PROCESS_RESTARTS: Final = Metric("prefixgate.process.restarts", "counter", "{process}", ("process",), 256,
    "Processes of the gateway that ended on their own and were started anew, by their number (docs/processes.md).",
    None)
SHARED_MESSAGES: Final = Metric("prefixgate.shared.messages", "counter", "{message}", ("outcome",), 10,
    "Messages between gateways: sent, dropped (nobody will hear), applied, unplaceable (its worker is not up here), "
    "unreadable; batches: repeated (here already), missed, unknown_version, publish_failures.",
    "Shared between gateways")
SHARED_CONNECTED: Final = Metric("prefixgate.shared.connected", "gauge", "1", (), 1,
    "1 while this gateway shares what it knows with others over Redis, 0 while Redis is away.",
    "Gateways that share")
SHARED_REPLICAS: Final = Metric("prefixgate.shared.replicas", "gauge", "{replica}", (), 1,
    "Gateways heard of lately, this one included.", "Gateways that share")
SHARED_LAG: Final = Metric("prefixgate.shared.lag", "gauge", "s", (), 1,
    "How old the news of another gateway was that was applied last.", "Age of others' news")
WORKER_UP: Final = Metric("prefixgate.worker.up", "gauge", "1", ("worker",), 1000,
    "1 while the worker answers its health check, else 0.", "Workers")
WORKER_BREAKER: Final = Metric("prefixgate.worker.breaker_open", "gauge", "1", ("worker",), 1000,
    "1 while the worker gets no requests because it fails them, 0.5 while it gets one at a time, else 0.", "Workers")
WORKER_RUNNING: Final = Metric("prefixgate.worker.running_requests", "gauge", "{request}", ("worker",), 1000,
    "Requests in the engine's running batch, as the engine reports.", "Load by worker")
WORKER_QUEUED: Final = Metric("prefixgate.worker.queued_requests", "gauge", "{request}", ("worker",), 1000,
    "Requests waiting in the engine, as the engine reports.", "Load by worker")
WORKER_KV_USAGE: Final = Metric("prefixgate.worker.kv_usage", "gauge", "1", ("worker",), 1000,
    "Share of the engine's KV cache in use, 0 to 1, as the engine reports.", "KV cache usage")
WORKER_ACTIVE: Final = Metric("prefixgate.worker.active_requests", "gauge", "{request}", ("worker",), 1000,
    "Requests this gateway has open at the worker.", "Load by worker")
WORKER_UNCACHED: Final = Metric("prefixgate.worker.uncached_tokens", "counter", "{token}", ("worker", "reason"), 2000,
    "Prompt tokens that the worker computed, by why: as prefixgate.uncached_tokens, of the worker that answered.",
    "Uncached tokens by worker")
INDEX_BLOCKS: Final = Metric("prefixgate.prefix.tree_blocks", "gauge", "{block}", ("worker",), 1000,
    "Blocks the prefix index believes the worker holds.", "Prefix index")
# fmt: on

CATALOG: Final = (
    *(INPUT_TOKENS, CACHED_TOKENS, EXPECTED_CACHED_TOKENS, UNREPORTED_INPUT_TOKENS, STABLE_TOKENS),
    *(UNCACHED_TOKENS, OUTPUT_TOKENS, USAGE_ANOMALIES, HIT_RATE_CHANGE),
    *(REQUESTS, RATE_LIMITED, RETRIES, REWRITES, HOIST_SAVED, ROUTE_DECISIONS),
    *(HTTP_DURATION, REQUEST_DURATION, CLIENT_DURATION, TTFT, TPOT, TOKEN_USAGE, OVERHEAD, QUEUE_DURATION),
    *(QUEUED, WORKER_UP, WORKER_BREAKER, WORKER_RUNNING, WORKER_QUEUED, WORKER_KV_USAGE, WORKER_ACTIVE, INDEX_BLOCKS),
    *(WORKER_UNCACHED, CAPTURES, SPANS, PROCESS_RESTARTS),
    *(SHARED_MESSAGES, SHARED_CONNECTED, SHARED_REPLICAS, SHARED_LAG),
)

_STABILITY: Final = {
    "http": "stable, OpenTelemetry HTTP conventions",
    "gen_ai": "Development, OpenTelemetry GenAI conventions 1.41: may be renamed",
}
_SUFFIXES: Final = {"s": "_seconds"}
_INTRO: Final = """\
# Metrics

Generated from `telemetry/catalog.py` by `python -m telemetry.catalog`; do not edit.

Served at `/metrics` (Prometheus text, or OpenMetrics when the scraper asks for it) and pushed by OTLP when an
endpoint is configured. The hit rate is a ratio of counters, never a mean of ratios:

    sum by (route, customer, prompt_version) (rate(prefixgate_cached_tokens_total[5m]))
      / sum by (route, customer, prompt_version) (rate(prefixgate_input_tokens_total[5m]))

A request whose cached count nobody reported is in neither; its prompt counts as unreported.

Label values are bounded. Routes, models and, once configured, customers are the configured ones. Without
configured customers the first 50 that come keep their name. A prompt version named by the client or the
configuration is a label at once, an automatic one after 20 requests, at most 50 per route; a request without
one is `unversioned`. Every other value is `other` (for `http.route`: `unmatched`, for `error.type`: `_OTHER`).
Past a metric's limit of label sets, further ones are counted together under `other` in every label. Labels that
say nothing (`error.type` of a success) are left out. No histogram carries the customer.

By OTLP the histograms carry exemplars: the trace and span of the last sampled request of each bucket (tracing.md).
"""


def prometheus_name(metric: Metric) -> str:
    """The metric's family name in a scrape: `prefixgate.input_tokens` is `prefixgate_input_tokens_total`."""
    name = metric.name.replace(".", "_") + _SUFFIXES.get(metric.unit, "")
    return name + "_total" if metric.kind == "counter" else name


def markdown() -> str:
    """docs/metrics.md, whole."""
    return "\n".join([_INTRO, *map(_section, CATALOG)])


def _section(metric: Metric) -> str:
    facts = [
        f"Prometheus `{prometheus_name(metric)}`",
        f"{metric.kind}, unit `{metric.unit}`",
        f"labels {', '.join(f'`{label}`' for label in metric.labels) or 'none'}",
        f"at most {metric.limit} label sets",
    ]
    stability = _STABILITY.get(metric.name.partition(".")[0])
    if stability:
        facts.append(stability)
    if metric.panel:
        facts.append(f'panel "{metric.panel}"')
    if metric.buckets:
        facts.append(f"buckets {' '.join(f'{bound:.10g}' for bound in metric.buckets)}")
    return f"## `{metric.name}`\n\n{metric.help}\n\n" + "".join(f"- {fact}\n" for fact in facts)


if __name__ == "__main__":
    sys.stdout.write(markdown())
