"""SGLang, as 0.5.23 really behaves (tests/integration measures it); older 0.5.x answers are read too.

- /health takes a full second while the engine is up (it generates a token and looks at the result), says 503 at
  once while it starts and while it drains, and only after 20 s when the scheduler hangs. Before the 503 of a start
  there are 15 s and more of refused connections; a draining engine goes on serving whoever still asks.
- /server_info (37 KB, 20 ms of the engine's CPU) has the flags. Nothing in it is called a boot id, but the
  scheduler's start-up durations, in nanoseconds, and the random seed are drawn anew at each start.
- /v1/loads (1 ms) reads a snapshot in shared memory, so it answers while the scheduler hangs. `num_used_tokens` is
  KV of running requests: with an idle engine it is 0 however much is cached, so it cannot tell a flush.
- A flush shows at once as a successful /flush_cache in sglang:http_responses_total (with --enable-metrics; 13 ms a
  look), and as AllBlocksCleared among the KV events; the kv_*_tokens gauges follow with the next batch only.
  SGLang refuses to flush while a request runs.
- With --enable-cache-report usage has `prompt_tokens_details.cached_tokens`, also when it is 0; without, the details
  are null. /generate always has `meta_info.cached_tokens`.
- `cache_salt` is a namespace of its own in the radix key, beside `extra_key` and the adapter; a string is taken for
  every prompt of a batch, a list for each. /v1/messages and /v1/embeddings do not read it.
- Any model name is answered, with status 200: the gateway has to refuse unknown ones.
- It speaks Anthropic's messages (without a salt: the body has no field for one) and OpenAI's Responses; the latter
  only where openai-harmony is installed (500 otherwise), and what it stores only with --enable-response-store.
- `routed_dp_rank` in the body of chat, completions, responses and /generate chooses the DP rank, each of which has
  its own cache and queue; without it they take turns. /v1/messages reads the header `x-data-parallel-rank` only,
  /v1/embeddings neither.
- /v1/responses and /generate always tell the cached count; /v1/messages leaves it out when it is 0.
- An empty prompt kills the CPU engine where SGLang does not refuse it: `text` "" at /generate, and one "" or [] in a
  batch, also of /v1/completions. Refuse those before they are sent, and before a retry kills the next engine.
"""

import hashlib
import re

import msgspec

from engine_adapter.answers import USAGE_PATHS, decode, listed, usage_additions
from engine_adapter.engine import NO_PAGES, Additions, EngineInfo, EngineLoad, KvEvents, Pages
from engine_adapter.sglang_load import read_load
from prefix.errors import EngineError

API_PATHS = frozenset(
    {
        *("/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens"),
        *("/v1/embeddings", "/generate"),
    }
)
NO_SUCH_PATH = b'{"detail":"Not Found"}'
SALTED_PATHS = RANKED_PATHS = USAGE_PATHS | {"/v1/responses", "/generate"}
CLEARING_PATHS = (
    "/flush_cache|/update_weights_from_(?:disk|distributed|tensor|ipc)|/end_weight_update"
    "|/release_memory_occupation|/pd_role_switch"
)

_RESPONSES = b"sglang:http_responses_total{"
_CLEARED = re.compile(
    rb'sglang:http_responses_total\{(?=[^}]*endpoint="(?:%s)")(?=[^}]*status_code="200")[^}]*\} ([0-9.e+]+)'
    % CLEARING_PATHS.encode()
)


class _KvEvents(msgspec.Struct):
    endpoint_port_base: int
    endpoint_host: str = "*"
    replay_endpoint_port_base: int | None = None
    topic: str = ""
    block_size: int = 1


class _Rank(msgspec.Struct):
    startup_time: msgspec.Raw = msgspec.Raw(b"")


class _Info(msgspec.Struct):
    """The answer of /server_info, as far as it is read; 37 KB shrink to this in one pass."""

    max_total_num_tokens: int | None = None
    served_model_name: str | None = None
    model_path: str | None = None
    version: str | None = None
    page_size: int | None = None
    context_length: int | None = None
    enable_cache_report: bool | None = None
    random_seed: int | None = None
    dp_size: int | None = None
    disaggregation_mode: str | None = None
    kv_events: _KvEvents | None = None
    internal_states: tuple[_Rank, ...] = ()


class SGLang:
    """The adapter; see `engine_adapter.engine.Engine` for what each name means."""

    kind = "sglang"
    health_path = "/health"
    health_every_s = 0.0
    info_paths = ("/server_info", "/get_server_info")
    info_also = ()
    load_paths = ("/v1/loads?include=core", "/get_load")
    load_also = ()
    metrics_path = "/metrics"
    asleep_path = None
    flush_path = "/flush_cache"
    keep_alive_s = 5.0
    report_flag = "--enable-cache-report"
    salt_member = "cache_salt"
    salted_paths = SALTED_PATHS
    cache_key_paths = ()

    def speaks(self, path: str) -> bool:
        return path in API_PATHS

    def lacks(self, status: int, answer: bytes) -> bool:
        return status == 404 and answer == NO_SUCH_PATH

    def detects(self, info: bytes) -> bool:
        try:
            parsed = self.parse_info(info)
        except EngineError:
            return False
        return bool(parsed.models) and parsed.kv_capacity_tokens is not None

    def parse_info(self, info: bytes, also: Pages = NO_PAGES) -> EngineInfo:
        parsed = decode(info, _INFO, "sglang /server_info")
        name = parsed.served_model_name or parsed.model_path
        return EngineInfo(
            kind=self.kind,
            version=parsed.version,
            models=(name,) if name else (),
            page_size=parsed.page_size,
            kv_capacity_tokens=parsed.max_total_num_tokens or None,
            max_model_len=parsed.context_length,
            cache_report=parsed.enable_cache_report,
            boot_id=_boot_id(parsed),
            dp_size=parsed.dp_size or 1,
            kv_events=_kv_events(parsed.kv_events),
            disaggregation=parsed.disaggregation_mode if parsed.disaggregation_mode != "null" else None,
        )

    def parse_models(self, models: bytes) -> dict[str, int | None]:
        return {model.id: model.max_model_len for model in listed(models, self.kind)}

    def parse_load(self, load: bytes, also: Pages = NO_PAGES) -> EngineLoad:
        return read_load(load)

    def parse_clearings(self, metrics: bytes) -> int | None:
        if _RESPONSES not in metrics:
            return None
        return int(sum(float(value) for value in _CLEARED.findall(metrics)))

    def parse_asleep(self, answer: bytes) -> bool:
        return False

    def rank_headers(self, path: str, rank: int) -> tuple[tuple[bytes, bytes], ...]:
        return ((b"x-data-parallel-rank", b"%d" % rank),) if path == "/v1/messages" else ()

    def additions(
        self,
        path: str,
        *,
        stream: bytes | None,
        stream_options: bytes | None,
        salt: str | list[str] | None = None,
        rank: int | None = None,
        cache_key: str | None = None,
    ) -> Additions:
        asked = usage_additions(path, stream, stream_options)
        members = dict(asked.members)
        if salt is not None:
            members[self.salt_member] = msgspec.json.encode(salt)
        if rank is not None and path in RANKED_PATHS:
            members["routed_dp_rank"] = b"%d" % rank
        return Additions(members, hide_usage=asked.hide_usage)


_INFO: msgspec.json.Decoder[_Info] = msgspec.json.Decoder(_Info)


def _boot_id(info: _Info) -> str | None:
    """16 hex digits out of what every start draws anew."""
    marks = [bytes(rank.startup_time) for rank in info.internal_states if bytes(rank.startup_time) != b"null"]
    if info.random_seed is not None:
        marks.append(b"%d" % info.random_seed)
    return hashlib.blake2b(b"\n".join(marks), digest_size=8).hexdigest() if any(marks) else None


def _kv_events(events: _KvEvents | None) -> KvEvents | None:
    if events is None:
        return None
    host = None if events.endpoint_host in ("*", "0.0.0.0", "::", "[::]") else events.endpoint_host  # noqa: S104
    return KvEvents(
        host, events.endpoint_port_base, events.replay_endpoint_port_base, events.topic, events.block_size
    )
