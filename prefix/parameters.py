"""What keeps two prompts apart though their text is the same: the model, a cache namespace, a template's arguments.

An engine's cache is one per model, adapter and salt, and the chat template prints other text for other arguments: a
named `tool_choice` renders one tool, `none` renders none (SGLang's serving_chat.py). The fields are those that
prefix.view puts into the seed of the block hashes.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple, get_args

Kind = Literal["model", "namespace", "tool_choice", "template_arguments"]

KINDS: tuple[Kind, ...] = get_args(Kind)
FIELDS: dict[str, Kind] = {
    "model": "model",
    "lora_path": "namespace",
    "cache_salt": "namespace",
    "extra_key": "namespace",
    "tool_choice": "tool_choice",
    "chat_template_kwargs": "template_arguments",
    "chat_template": "template_arguments",
    "reasoning_effort": "template_arguments",
}
"""What a change of each member of a body is."""


class ParameterChange(NamedTuple):
    """One field that keeps the prompts apart: its name, its kind, and both values as text (None: not set)."""

    name: str
    kind: Kind
    a: str | None
    b: str | None


def parameter_changes(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[ParameterChange]:
    """The parameters of two bodies that part their prompts, what keeps whole caches apart first."""
    with_tools = all(body.get("tools") or body.get("functions") for body in (a, b))
    for name, kind in FIELDS.items():
        values = [_plain(body.get(name)) for body in (a, b)]
        if name == "tool_choice":
            values = [_tool_choice(body) if with_tools else None for body in (a, b)]
        if values[0] != values[1]:
            yield ParameterChange(name, kind, *values)


def _plain(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    except RecursionError:
        return "nested too deep to read"


def _tool_choice(body: Mapping[str, Any]) -> str:
    """Which of the tools stand in the prompt."""
    choice = body.get("tool_choice", body.get("function_call"))
    if isinstance(choice, Mapping):
        function = choice.get("function")
        name = (function if isinstance(function, Mapping) else choice).get("name")
        if isinstance(name, str):
            return name
        choice = choice.get("type")
    return "none" if choice == "none" else "all tools"
