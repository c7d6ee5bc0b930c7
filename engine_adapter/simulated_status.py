"""What the simulated engine says of itself: /v1/models, /server_info, /model_info, /v1/loads, /metrics.

Only fields that have a meaning here, under SGLang 0.5.23's names.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from engine_adapter.engine_model import EngineModel
from engine_adapter.engine_request import EngineRequest

VERSION = "0.5.23"
CREATED = int(time.time())


@dataclass(slots=True)
class Totals:
    """Counters over the engine's life."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    generation_tokens: int = 0
    requests: int = 0
    aborted: int = 0

    def count(self, request: EngineRequest, output_tokens: int) -> None:
        """A request ended."""
        self.requests += 1
        self.prompt_tokens += request.prompt_tokens
        self.cached_tokens += request.cached_tokens
        self.generation_tokens += output_tokens


def model_card(model: str, engine: EngineModel) -> dict[str, Any]:
    """One entry of /v1/models."""
    ids = {"id": model, "object": "model", "created": CREATED, "owned_by": "sglang", "root": model, "parent": None}
    return {**ids, "max_model_len": engine.config.context_tokens}


def server_info(
    model: str, engine: EngineModel, ranks: int, *, cache_report: bool, kv_events: dict[str, Any] | None = None
) -> dict[str, Any]:
    """/server_info, without the flags that mean nothing here. `simulated` is ours."""
    config = engine.config
    flags = {
        "model_path": model,
        "served_model_name": model,
        "context_length": config.context_tokens,
        "page_size": config.page_tokens,
        "max_running_requests": config.max_running,
        "chunked_prefill_size": config.chunk_tokens,
        "max_prefill_tokens": config.prefill_tokens,
        "schedule_policy": "fcfs",
        "radix_eviction_policy": "lru",
        "disable_radix_cache": False,
        "enable_cache_report": cache_report,
        "enable_metrics": True,
        "tp_size": 1,
        "dp_size": ranks,
    }
    return {
        **flags,
        "status": "ready",
        "version": VERSION,
        "simulated": True,
        "max_total_num_tokens": engine.cache.capacity_tokens,
        "max_req_input_len": config.input_limit,
        "kv_events": kv_events,
        "internal_states": [flags] * ranks,
    }


def model_info(model: str) -> dict[str, Any]:
    """/model_info."""
    return {
        "model_path": model,
        "served_model_name": model,
        "tokenizer_path": model,
        "is_generation": True,
        "weight_version": "default",
        "model_type": "simulated",
    }


def loads(ranks: Sequence[EngineModel]) -> dict[str, Any]:
    """/v1/loads: each rank's."""
    return {
        "timestamp": datetime.now(UTC).isoformat(),
        "version": VERSION,
        "accelerator": None,
        "num_accelerators": len(ranks),
        "loads": [_rank_load(number, engine) for number, engine in enumerate(ranks)],
    }


def _rank_load(number: int, engine: EngineModel) -> dict[str, Any]:
    load, capacity = engine.load(), engine.cache.capacity_tokens
    return {
        "timestamp": time.time(),
        "dp_rank": number,
        "num_running_reqs": load.running,
        "num_waiting_reqs": load.waiting,
        "num_waiting_uncached_tokens": load.waiting_uncached_tokens,
        "num_used_tokens": load.used_tokens,
        "num_total_tokens": load.used_tokens + load.waiting_uncached_tokens,
        "max_total_num_tokens": capacity,
        "max_running_requests": engine.config.max_running,
        "token_usage": round(load.used_tokens / capacity, 4),
        "gen_throughput": 0.0,
        "cache_hit_rate": 0.0,
        "utilization": 0.0,
    }


def metrics(model: str, ranks: Sequence[EngineModel], totals: Totals) -> str:
    """/metrics in the Prometheus text format. What a rank says has its number, where there are several."""
    rows: list[tuple[str, str, float, str]] = [
        ("prompt_tokens_total", "counter", totals.prompt_tokens, ""),
        ("cached_tokens_total", "counter", totals.cached_tokens, ',cache_source="device"'),
        ("generation_tokens_total", "counter", totals.generation_tokens, ""),
        ("num_requests_total", "counter", totals.requests, ""),
        ("num_aborted_requests_total", "counter", totals.aborted, ""),
    ]
    told = [_rank_metrics(engine) for engine in ranks]
    for same in zip(*told, strict=True):
        for number, (name, kind, value) in enumerate(same):
            rows.append((name, kind, value, f',dp_rank="{number}"' if len(ranks) > 1 else ""))
    quoted = model.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    labels = f'engine_type="unified",model_name="{quoted}"'
    typed: set[str] = set()
    page = []
    for name, kind, value, more in rows:
        if name not in typed:
            page.append(f"# TYPE sglang:{name} {kind}\n")
            typed.add(name)
        page.append(f"sglang:{name}{{{labels}{more}}} {value}\n")
    return "".join(page)


def _rank_metrics(engine: EngineModel) -> list[tuple[str, str, float]]:
    load, cache = engine.load(), engine.cache
    return [
        ("evicted_tokens_total", "counter", cache.evicted_tokens),
        ("num_running_reqs", "gauge", load.running),
        ("num_queue_reqs", "gauge", load.waiting),
        ("num_used_tokens", "gauge", load.used_tokens),
        ("token_usage", "gauge", load.used_tokens / cache.capacity_tokens),
        ("max_total_num_tokens", "gauge", cache.capacity_tokens),
        ("page_size", "gauge", cache.page_tokens),
        ("kv_available_tokens", "gauge", cache.free_tokens),
        ("kv_evictable_tokens", "gauge", cache.evictable_tokens),
    ]
