"""The seed of a prompt's block hashes: its namespace, and what else changes the front of the rendered prompt.

Tagged and length-prefixed by JSON itself: fields of different name or extent can never meet.
"""

import json
from typing import Any

import xxhash

from prefix.frame import Frame
from prefix.plain import encode_any

_SALTS = ("cache_salt", "extra_key")
_STORED = ("previous_response_id", "conversation", "prompt")


def seeds(body: Frame, kind: str, choice: str) -> tuple[int, int]:
    """The seed with the salts of the body, and the one without any."""
    seed = _seed(body, kind, choice, _SALTS)
    salted = any(key in body and body.value(key) is not None for key in _SALTS)
    return seed, _seed(body, kind, choice, ()) if salted else seed


def _seed(body: Frame, kind: str, choice: str, salts: tuple[str, ...]) -> int:
    names = ("model", "lora_path", *(salts or (None, None)), "reasoning_effort")
    fields: list[Any] = [
        kind,
        choice,
        *(body.value(key) if key is not None and key in body else None for key in names),
    ]
    for key in ("chat_template_kwargs", "chat_template"):
        if key in body:
            fields += (key, json.dumps(body.value(key), sort_keys=True))
    for key, inner in (("reasoning", "effort"), ("thinking", "type")):  # Responses, Anthropic
        value = body.value(key) if key in body else None
        if type(value) is dict:
            fields += (key, str(value.get(inner)))
    for key in _STORED:  # what stands in front is known to the engine only
        value = body.value(key) if key in body else None
        if value is not None and not (key == "prompt" and (kind == "text" or "messages" in body)):
            fields += (key, json.dumps(value, sort_keys=True))
    return xxhash.xxh3_64_intdigest(encode_any(fields))
