"""TensorRT-LLM: `trtllm-serve`. From documents and sources only: NOT RUN, it needs a GPU.

- Read: docs/source/commands/trtllm-serve.rst of NVIDIA/TensorRT-LLM at 000d7718, its tensorrt_llm/serve/
  openai_protocol.py at 54cf7be0 and openai_server.py at e7f7345e, and the unit tests of its metrics collector.
- It has /health, /version, and /v1/models with `owned_by: tensorrt_llm`.
- /metrics is a JSON list with the statistics of each iteration *since it was last read*: an empty list says nothing
  new, and two readers take them from each other. The PyTorch backend needs `enable_iter_perf_stats: true` for it.
- `kvCacheStats.usedNumBlocks` counts what running requests hold; reusable blocks are free ones there.
- Usage has `prompt_tokens_details.cached_tokens`. `cache_salt` is a field of chat completions only.
- Triton's OpenAI front end (python/openai of triton-inference-server/server) has /health/ready instead of /health,
  and /metrics in Prometheus text without the requests that run or wait: configure it as `openai`, of which no more
  is known either.
"""

from collections.abc import Collection
from typing import Final

import msgspec

from engine_adapter.answers import decode, listed, owned_by
from engine_adapter.engine import NO_PAGES, EngineInfo, EngineLoad, Pages
from engine_adapter.openai import CHAT, COMPLETIONS, RESPONSES, OpenAI


class _KvCache(msgspec.Struct, rename="camel"):
    max_num_blocks: int | None = None
    used_num_blocks: int | None = None
    tokens_per_block: int | None = None


class _Batching(msgspec.Struct, rename="camel"):
    num_queued_ctx_tokens: int | None = None
    num_paused_requests: int = 0


class _Iteration(msgspec.Struct, rename="camel"):
    num_active_requests: int | None = None
    num_queued_requests: int | None = None
    kv_cache_stats: _KvCache = msgspec.field(default_factory=_KvCache)
    inflight_batching_stats: _Batching = msgspec.field(default_factory=_Batching)


class _Version(msgspec.Struct):
    version: str | None = None


_ITERATIONS: Final = msgspec.json.Decoder(tuple[_Iteration, ...])
_VERSION: Final = msgspec.json.Decoder(_Version)


class TrtLlm(OpenAI):
    """The adapter; see `engine_adapter.engine.Engine` for what each name means."""

    kind = "trtllm"
    health_path = "/health"
    health_every_s = 0.0
    info_also = ("/version",)
    load_paths = ("/metrics",)
    salt_member = "cache_salt"
    salted_paths = frozenset((CHAT,))
    cache_key_paths: Collection[str] = ()
    api_paths = frozenset((CHAT, COMPLETIONS, RESPONSES))

    def detects(self, info: bytes) -> bool:
        return owned_by(info, ("tensorrt_llm",))

    def parse_info(self, info: bytes, also: Pages = NO_PAGES) -> EngineInfo:
        version = also.get("/version")
        told = decode(version, _VERSION, "trtllm /version").version if version else None
        return self._info(tuple(card.id for card in listed(info, self.kind)), version=told)

    def parse_load(self, load: bytes, also: Pages = NO_PAGES) -> EngineLoad | None:
        iterations = decode(load, _ITERATIONS, "trtllm /metrics")
        if not iterations or iterations[-1].num_active_requests is None:
            return None
        last = iterations[-1]
        cache, batching, queued = last.kv_cache_stats, last.inflight_batching_stats, last.num_queued_requests
        used = cache.used_num_blocks
        return EngineLoad(
            last.num_active_requests or 0,
            None if queued is None else queued + batching.num_paused_requests,
            0 if queued == 0 else batching.num_queued_ctx_tokens,
            None if used is None or cache.tokens_per_block is None else used * cache.tokens_per_block,
            None,
        )
