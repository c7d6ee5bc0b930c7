"""What two looks at the engines, and the gauges between them, say about the workload in that time.

One idea: a mean of any phase is a difference of sums over a difference of counts, so it is about exactly the requests
that went through that phase in the window, however many still wait. Phases of a request: queue (until it is
scheduled), prefill (until its first token), decode (the rest: time per output token, times tokens after the first).
Names as in SGLang 0.5.23 (srt/observability/metrics_collector.py).
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from gateway.diagnose.page import Histogram, Page, grown, level, observed
from prefix.errors import EngineError

LEAST_REQUESTS: Final = 100
"""Below it a mean of phases is a guess: with exponential times its standard error is 10 % at 100."""

_P: Final = "sglang:"
_NEEDED: Final = {
    "queue": "queue_time_seconds",
    "prefill": "per_stage_req_latency_seconds:prefill_forward",
    "tpot": "request_time_per_output_token_seconds",
    "ttft": "time_to_first_token_seconds",
    "e2e": "e2e_request_latency_seconds",
    "prompts": "prompt_tokens_histogram",
    "outputs": "generation_tokens_histogram",
}


class Setup(msgspec.Struct, frozen=True):
    """What the engine says of its flags (/v1/loads, /server_info). None: unknown. engines: ranks, all together."""

    engines: int = 1
    max_running: int | None = None
    kv_capacity_tokens: int | None = None
    page_tokens: int | None = None
    chunk_tokens: int | None = None
    context_tokens: int | None = None


class Around(msgspec.Struct, frozen=True):
    """Seconds a request spends around the engine, on average. None: not seen from here, so not judged."""

    gateway_s: float | None = None
    network_s: float | None = None


class Evidence(msgspec.Struct, frozen=True):
    """One window. Seconds are means per request, tokens are sums, levels are means over the looks.

    backlog: requests that were in the engines when the window began. grew: by how many more at its end.
    """

    seconds: float
    requests: int
    queue_s: float
    prefill_s: float
    decode_s: float
    ttft_s: float
    ttft_p99_s: float
    prompts: Histogram
    outputs: Histogram
    prompt_tokens: float
    cached_tokens: float
    output_tokens: float
    running: float
    most_running: float
    waiting: float
    kv_use: float
    most_kv_use: float
    backlog: int
    grew: int
    retracted: float | None
    evicted_tokens: float | None
    accepted_length: float | None
    setup: Setup
    around: Around

    @property
    def hit_rate(self) -> float:
        """Cached prompt tokens of all prompt tokens."""
        return self.cached_tokens / self.prompt_tokens if self.prompt_tokens else 0.0

    @property
    def engine_s(self) -> float:
        """A request's time in the engine."""
        return self.queue_s + self.prefill_s + self.decode_s

    @property
    def total_s(self) -> float:
        """With what is known of the time around it."""
        return self.engine_s + (self.around.gateway_s or 0.0) + (self.around.network_s or 0.0)


class Missing(msgspec.Struct, frozen=True):
    """There is not enough to judge; what is missing, a line each."""

    requests: int
    lacks: tuple[str, ...]


def gather(looks: Sequence[Page], seconds: float, setup: Setup, around: Around | None = None) -> Evidence | Missing:
    """The window from the first to the last look, of two or more. Raises EngineError for too few looks."""
    if len(looks) < 2:
        raise EngineError("one look at /metrics tells nothing about a window: two are needed")
    first, last = looks[0], looks[-1]
    seen = {name: observed(first, last, _P + metric) for name, metric in _NEEDED.items()}
    requests = int(seen["e2e"].count) if seen["e2e"] is not None else 0
    lacks = _lacks(seen, last, requests)
    if lacks:
        return Missing(requests, tuple(lacks))
    found = {name: histogram for name, histogram in seen.items() if histogram is not None}
    return _evidence(looks, seconds, found, _completed(setup, last), around or Around())


def _lacks(seen: dict[str, Histogram | None], last: Page, requests: int) -> list[str]:
    if not any(name.startswith(_P) for name in (*last.counters, *last.gauges)):
        return ["no sglang: metrics at /metrics: start the engine with --enable-metrics"]
    lacks = []
    if requests < LEAST_REQUESTS:
        lacks.append(
            f"{requests} requests ended in the window, {LEAST_REQUESTS} are needed: watch longer (--seconds)"
        )
    gone = [_P + _NEEDED[name] for name, histogram in seen.items() if histogram is None]
    if requests and gone:
        lacks.append(f"nothing observed in {', '.join(gone)}: was the engine restarted?")
    return lacks


def _completed(setup: Setup, page: Page) -> Setup:
    """What the metrics say of the flags, where nothing else did."""
    capacities = page.gauges.get(_P + "max_total_num_tokens", ())
    sizes = page.gauges.get(_P + "page_size", ())
    return msgspec.structs.replace(
        setup,
        engines=max(setup.engines, len(capacities)),
        kv_capacity_tokens=setup.kv_capacity_tokens or (int(capacities[0]) if capacities else None),
        page_tokens=setup.page_tokens or (int(sizes[0]) if sizes else None),
    )


def _evidence(
    looks: Sequence[Page], seconds: float, seen: dict[str, Histogram], setup: Setup, around: Around
) -> Evidence:
    first, last = looks[0], looks[-1]
    running, waiting = _levels(looks, "num_running_reqs"), _levels(looks, "num_queue_reqs")
    use = [each / setup.engines for each in _levels(looks, "token_usage")]
    accepted = level(last, _P + "spec_accept_length")
    return Evidence(
        seconds=seconds,
        requests=int(seen["e2e"].count),
        queue_s=seen["queue"].mean,
        prefill_s=seen["prefill"].mean,
        decode_s=seen["tpot"].mean * max(0.0, seen["outputs"].mean - 1),
        ttft_s=seen["ttft"].mean,
        ttft_p99_s=seen["ttft"].quantile(0.99),
        prompts=seen["prompts"],
        outputs=seen["outputs"],
        prompt_tokens=seen["prompts"].total,
        cached_tokens=grown(first, last, _P + "cached_tokens_total") or 0.0,
        output_tokens=seen["outputs"].total,
        running=_mean(running),
        most_running=max(running, default=0.0),
        waiting=_mean(waiting),
        kv_use=_mean(use),
        most_kv_use=max(use, default=0.0),
        backlog=_in_flight(first),
        grew=_in_flight(last) - _in_flight(first),
        retracted=grown(first, last, _P + "num_retracted_requests_total"),
        evicted_tokens=grown(first, last, _P + "evicted_tokens_total"),
        accepted_length=accepted / setup.engines if accepted else None,
        setup=setup,
        around=around,
    )


def _levels(looks: Sequence[Page], name: str) -> list[float]:
    return [value for page in looks if (value := level(page, _P + name)) is not None]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _in_flight(page: Page) -> int:
    return round((level(page, _P + "num_running_reqs") or 0.0) + (level(page, _P + "num_queue_reqs") or 0.0))
