"""Which paths never pass: those that manage an engine, and the gateway's own.

One idea: a segment of a path names what it does, so words in segments find these paths in every engine, also under a
prefix and in versions nobody has seen. Read in http_server.py of SGLang 0.5.23, vLLM's api_server (/sleep, /wake_up,
/reset_prefix_cache, /v1/load_lora_adapter, /collective_rpc, /scale_elastic_ep), llama.cpp's server (/slots, /props,
/lora-adapters, /models/load) and TensorRT-LLM's (/update_weights, /kv_cache_events).
"""

import re

_WORDS = (
    "abort abort_request health_generate adapters collective_rpc configure_logging dump dumper freeze_gc get_load "
    "is_paused is_sleeping load loads lora pause props pd_role_switch perf_metrics resume role_switch "
    "scale_elastic_ep server_info set_internal_state set_trace_level shutdown sleep slots slow_down "
    "unload wake wake_up"
)
_PARTS = (
    "cache hicache corpus corpora distribution internal lora memory paused? profile remote rpc scaling server_info "
    "session weights? world_size"
)
_MANAGING = re.compile(
    rf"(?:{'|'.join(_WORDS.split())})"
    rf"|(?:.*[_-])?(?:{'|'.join(_PARTS.split())})(?:[_-].*)?"
    r"|(?:start|stop|pause|resume|continue|flush|reset|release|update|load|unload|init|destroy|send|begin|end)[_-].*"
)
_OWN = frozenset(("api", "dashboard", "docs", "health", "metrics", "openapi.json", "ready", "redoc", "workers"))


def may_be_proxied(path: str) -> bool:
    """Whether a plain path neither manages an engine nor is the gateway's own."""
    segments = path.lower().strip("/").split("/")
    own = segments[0] in _OWN or segments[:2] == ["v1", "models"]
    return not own and not any(map(_MANAGING.fullmatch, segments))
