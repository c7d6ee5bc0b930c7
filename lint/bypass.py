"""Parameters with which an engine does not read its prefix cache, and why.

* SGLang 0.5.23, managers/schedule_batch.py `_compute_max_prefix_len`: with `return_logprob` and a `logprob_start_len`
  of 0 or more, no more than that many tokens are matched; entrypoints/openai/serving_completions.py sets 0 for `echo`
  with `logprobs`. managers/tokenizer_manager.py refuses `input_embeds` unless the radix cache is switched off.
  `return_hidden_states` and `logprobs` of the answer alone change nothing.
* vLLM, vllm/sampling_params.py `__post_init__` (commit 00388f6): `skip_reading_prefix_cache` is on when
  `prompt_logprobs` or `prompt_logprob_token_ids` is set, 0 too; v1/request.py reads it before blocks are looked up.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Bypass(NamedTuple):
    """name: the member that does it. why: what the engine does, for a message."""

    name: str
    why: str


def bypass(body: Mapping[str, Any]) -> Bypass | None:
    """What keeps a parsed request body from reading the cache, None when nothing does."""
    for name in ("prompt_logprobs", "prompt_logprob_token_ids"):
        if body.get(name) is not None and body[name] is not False:
            return Bypass(name, "vLLM does not read its prefix cache for it")
    if body.get("echo") is True and body.get("logprobs"):
        return Bypass("echo", "with logprobs the whole prompt is computed again, on SGLang and vLLM")
    start = body.get("logprob_start_len")
    if body.get("return_logprob") is True and type(start) is int and start >= 0:
        return Bypass("logprob_start_len", f"SGLang reuses no more than {start:,} tokens with it")
    return None
