"""What keeps the caches of two requests apart though their text is the same."""

import re
from collections.abc import Mapping
from typing import Any, Final

import xxhash

MEMBERS: Final = (
    *("model", "lora_path", "cache_salt", "extra_key"),
    *("tool_choice", "function_call", "chat_template_kwargs", "chat_template", "reasoning_effort"),
)
_SCHEMA_IN_PROMPT: Final = re.compile(r"(?:.*/)?(?:gpt-(?!oss)|chatgpt|o\d)")
"""Models of OpenAI, which documents that the schema of response_format precedes the system text; on SGLang and vLLM
it constrains decoding and is not in the prompt."""


def schema_in_prompt(body: Mapping[str, Any]) -> bool:
    """The model is one whose prompt begins with the schema of response_format."""
    return _SCHEMA_IN_PROMPT.match(str(body.get("model"))) is not None


def scope(body: Mapping[str, Any]) -> int:
    """Equal for two requests that can share a cache."""
    parts = [body.get(name) for name in MEMBERS]
    if "response_format" in body and schema_in_prompt(body):
        parts.append(body["response_format"])
    return xxhash.xxh3_64_intdigest(repr(parts).encode("utf-8", "surrogatepass"))
