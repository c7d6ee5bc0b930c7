"""Values as bytes of a view: UTF-8 text, compact JSON; lone surrogates and big integers have bytes too."""

import json
from typing import Any

import msgspec

_encode = msgspec.json.Encoder().encode


def text_bytes(text: str) -> bytes:
    """UTF-8 of it."""
    try:
        return text.encode()
    except UnicodeEncodeError:  # lone surrogates: an engine may take them
        return text.encode("utf-8", "surrogatepass")


def encode_any(value: Any) -> bytes:
    """Its compact JSON."""
    try:
        return _encode(value)
    except (UnicodeEncodeError, OverflowError):
        return json.dumps(value, separators=(",", ":")).encode()


def as_list(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if type(value) is list else []
