"""vLLM, as 0.32.0 on CPUs really behaves (tests/data/vllm was recorded from it).

- /v1/models says whose it is (`owned_by`), /version which; the rest is on /metrics (51 KB, 13 ms of its CPU a look):
  the block size and the blocks of the KV cache (`vllm:cache_config_info`), who runs and waits, and how much of the
  KV cache running requests hold (`vllm:kv_cache_usage_perc`; what is cached and evictable is not in it). Of waiting
  requests it tells the number, not the tokens: those are taken to be as long as the mean so far.
- Counters begin again with the process; `process_start_time_seconds` says when that was.
- /reset_prefix_cache (VLLM_SERVER_DEV_MODE) shows in `http_requests_total`, also when it answered `success: false`
  because requests ran: then too much is forgotten, which costs a few misses. /sleep, /is_sleeping are there in that
  mode only, and need a GPU. A sleeping engine answers 200 at /health and keeps no cache.
- With --enable-prompt-tokens-details usage has `prompt_tokens_details.cached_tokens`, 0 included; without, the
  details are null. /v1/responses and /v1/messages always tell it.
- `cache_salt` is a namespace of its own: in the body of chat, completions and responses, a string that is not empty.
  It goes into the hash of the first block, so all that follow differ.
- /v1/messages takes no salt. An unknown model is 404 with `NotFoundError`, not a missing path.
"""

from collections.abc import Collection
from typing import Final

import msgspec

from engine_adapter.answers import label, listed, owned_by, sample, whole
from engine_adapter.engine import NO_PAGES, EngineInfo, EngineLoad, Pages
from engine_adapter.openai import CHAT, COMPLETIONS, EMBEDDINGS, MESSAGES, RESPONSES, OpenAI
from prefix.errors import EngineError

SALTED_PATHS: Final = frozenset((CHAT, COMPLETIONS, RESPONSES))
_CONFIG: Final = b"vllm:cache_config_info"


class _Version(msgspec.Struct):
    version: str | None = None


class _Sleep(msgspec.Struct):
    is_sleeping: bool = False


_VERSION: Final = msgspec.json.Decoder(_Version)
_SLEEP: Final = msgspec.json.Decoder(_Sleep)


class VLLM(OpenAI):
    """The adapter; see `engine_adapter.engine.Engine` for what each name means."""

    kind = "vllm"
    health_path = "/health"
    health_every_s = 0.0
    info_paths = ("/v1/models",)
    info_also = ("/version", "/metrics")
    load_paths = ("/metrics",)
    metrics_path = "/metrics"
    asleep_path = "/is_sleeping"
    flush_path = "/reset_prefix_cache"
    report_flag = "--enable-prompt-tokens-details"
    salt_member = "cache_salt"
    salted_paths = SALTED_PATHS
    cache_key_paths: Collection[str] = ()
    api_paths = frozenset((CHAT, COMPLETIONS, RESPONSES, MESSAGES, f"{MESSAGES}/count_tokens", EMBEDDINGS))

    def detects(self, info: bytes) -> bool:
        return owned_by(info, ("vllm",))

    def parse_info(self, info: bytes, also: Pages = NO_PAGES) -> EngineInfo:
        cards = listed(info, self.kind)
        page = also.get("/metrics", b"")
        started = sample(page, b"process_start_time_seconds")
        return self._info(
            tuple(card.id for card in cards),
            version=_version(also.get("/version", b"")),
            page_size=_count(page, b"block_size"),
            kv_capacity_tokens=_capacity(page),
            max_model_len=next((card.max_model_len for card in cards), None),
            boot_id=None if started is None else repr(started),
        )

    def parse_load(self, load: bytes, also: Pages = NO_PAGES) -> EngineLoad:
        running, waiting = (whole(sample(load, b"vllm:num_requests_%s" % name)) for name in (b"running", b"waiting"))
        if running is None or waiting is None:
            raise EngineError("vllm /metrics: no vllm:num_requests_running and waiting")
        usage, capacity = sample(load, b"vllm:kv_cache_usage_perc"), _capacity(load)
        return EngineLoad(
            running,
            waiting,
            _waiting_tokens(load, waiting),
            None if usage is None or capacity is None else round(usage * capacity),
            whole(_computed(load)),
        )

    def parse_clearings(self, metrics: bytes) -> int | None:
        return cleared(metrics)

    def parse_asleep(self, answer: bytes) -> bool:
        try:
            return _SLEEP.decode(answer).is_sleeping
        except msgspec.DecodeError:
            return False


def cleared(metrics: bytes) -> int | None:
    """Successful requests to empty the prefix cache; None where requests are not counted."""
    if b"http_requests_total{" not in metrics:
        return None
    found = (
        line.rpartition(b" ")[2]
        for line in metrics.splitlines()
        if line.startswith(b"http_requests_total{") and b'"/reset_prefix_cache"' in line and b'"2xx"' in line
    )
    return round(sum(map(float, found)))


def _version(answer: bytes) -> str | None:
    try:
        return _VERSION.decode(answer).version
    except msgspec.DecodeError:
        return None


def _count(page: bytes, name: bytes) -> int | None:
    value = label(page, _CONFIG, name)
    return int(value) if value is not None and value.isdigit() else None


def _capacity(page: bytes) -> int | None:
    """Tokens that the KV cache holds."""
    size, blocks = _count(page, b"block_size"), _count(page, b"num_gpu_blocks")
    return size * blocks if size and blocks else None


def _computed(page: bytes) -> float | None:
    """Prompt tokens computed since the process began, those from the cache left out."""
    tokens, cached = sample(page, b"vllm:prompt_tokens_total"), sample(page, b"vllm:prompt_tokens_cached_total")
    return None if tokens is None else tokens - (cached or 0.0)


def _waiting_tokens(page: bytes, waiting: int) -> int | None:
    """Prompt tokens of the waiting requests, each as long and as little cached as the mean of those before."""
    if not waiting:
        return 0
    computed, prompts = _computed(page), sample(page, b"vllm:request_prompt_tokens_count")
    return round(waiting * computed / prompts) if prompts and computed is not None else None
