"""Values that exports give as JSON text: messages, tools and parameters, in a column or an attribute."""

from typing import Any

import msgspec

_decode = msgspec.json.Decoder().decode


def given(value: Any) -> Any:
    """A value, read when it is the text of a JSON object or list; any other text stays text."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        return _decode(value)
    except (msgspec.DecodeError, RecursionError):
        return value


def members(value: Any) -> dict[str, Any]:
    """An object, given as one or as its text; {} when it is none."""
    value = given(value)
    return value if isinstance(value, dict) else {}


def prompt(value: Any) -> dict[str, Any]:
    """A prompt as a body: a body, the messages of one, or a text; {} when there is none."""
    value = given(value)
    if isinstance(value, list):
        return {"messages": value} if value else {}
    if isinstance(value, dict):
        lists = {name: given(value[name]) for name in ("messages", "tools") if isinstance(value.get(name), str)}
        return {**value, **lists}
    return {"prompt": value} if isinstance(value, str) and value else {}
