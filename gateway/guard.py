"""What a customer may not tell an engine: the fields and headers that steer it, or reach into others' requests.

With customers configured each of these is 403 unless the key grants it (`allow_fields`). Where they come from:
SGLang 0.5.23 (srt/managers/io_struct.py, entrypoints/openai/protocol.py; the headers: srt/entrypoints/
request_headers.py and openai/serving_base.py), vLLM, TensorRT-LLM and llama.cpp servers. `null` is what an engine
takes for absent, so it passes.
"""

from collections.abc import Collection, Iterable
from typing import Any, Final

from gateway.errors import Refusal
from prefix.body import Body

FIELDS: Final = frozenset(
    # who is served first, and by whom
    "priority routed_dp_rank data_parallel_rank disagg_prefill_dp_rank routing_key bootstrap_host bootstrap_port "
    "bootstrap_room bootstrap_pair_key decode_tp_size disaggregated_params need_wait_for_mm_inputs encoder_urls "
    "num_items_assigned http_worker_ipc id_slot nvext "
    # code, adapters, and internals of the cache
    "custom_logit_processor logits_processors lora_path lora_id lora_request lora vllm_xargs kv_hints "
    "kv_transfer_params ec_transfer_params positional_embed_overrides "
    # names of requests and sessions, which are shared by everybody
    "rid request_id conversation_id session_id session_params "
    # cache namespaces
    "cache_salt extra_key "
    # what the operator's logs, metrics and traces show
    "no_logs log_metrics custom_labels external_trace_header received_time".split()
)
"""Names of body fields; also the valid values of `allow_fields`."""

HEADERS: Final = {
    b"x-override-rid": "rid",
    b"x-override-bootstrap-host": "bootstrap_host",
    b"x-override-bootstrap-port": "bootstrap_port",
    b"x-override-bootstrap-room": "bootstrap_room",
    b"x-override-conversation-id": "conversation_id",
    b"x-override-routed-dp-rank": "routed_dp_rank",
    b"x-override-disagg-prefill-dp-rank": "disagg_prefill_dp_rank",
    b"x-override-priority": "priority",
    b"x-data-parallel-rank": "routed_dp_rank",
    b"x-smg-routing-key": "routing_key",
}
"""Request headers by which an engine takes such a field; another `x-override-*` is of an engine newer than this."""

_NESTED: Final = ("sampling_params", "extra_body")
"""Objects, or lists of objects, that are themselves spread over the request by an engine or by what is before it."""


def check_fields(body: Body, allowed: Collection[str]) -> None:
    """Raises Refusal `field_not_allowed` with the JSON pointer. allowed: what the caller's key grants."""
    if not FIELDS.isdisjoint(body.spans):
        for name in body.spans:
            if name in FIELDS and name not in allowed and body.slice(name) != b"null":
                raise _refusal(name, f"/{name}")
    for name in _NESTED:
        if name in body.spans:
            _check_nested(body.value(name), allowed, f"/{name}")


def check_headers(headers: Iterable[tuple[bytes, bytes]], allowed: Collection[str]) -> None:
    """Raises Refusal `field_not_allowed` for a header that sets a field not allowed. Names are lower case."""
    for name, _ in headers:
        if name.startswith(b"x-"):
            field = HEADERS.get(name)
            if field is None and name.startswith(b"x-override-"):
                field = name.removeprefix(b"x-override-").decode("latin-1").replace("-", "_")
            if field is not None and field not in allowed:
                raise _refusal(name.decode("latin-1"), None)


def _check_nested(value: Any, allowed: Collection[str], pointer: str) -> None:
    if type(value) is list:
        for place, item in enumerate(value):
            _check_nested(item, allowed, f"{pointer}/{place}")
    elif type(value) is dict:
        for name, given in value.items():
            if name in FIELDS and name not in allowed and given is not None:
                raise _refusal(name, f"{pointer}/{name}")


def _refusal(name: str, pointer: str | None) -> Refusal:
    message = f"{name} is not open to this API key: leave it out, or ask for it (allow_fields in the configuration)"
    return Refusal("field_not_allowed", message, param=pointer)
