"""Chat templates as engines render them: what a body's prompt text is, under a model's template.

As SGLang does it (srt/entrypoints/openai/serving_chat.py): tools and messages come from typed models, so that their
own key order never shows; text parts become one text; arguments of tool calls are parsed before templating.
"""

import json
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Template
from jinja2.sandbox import ImmutableSandboxedEnvironment

TEMPLATES = Path(__file__).parents[1] / "data" / "templates"
NAMES = sorted(path.stem for path in TEMPLATES.glob("*.jinja"))


@cache
def template(name: str) -> Template:
    """A template compiled as transformers compiles them."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"], autoescape=False
    )
    environment.filters["tojson"] = _to_json
    return environment.from_string((TEMPLATES / f"{name}.jinja").read_text(encoding="utf-8"))


def render(name: str, body: bytes | dict[str, Any], *, today: date = date(2026, 3, 5), **arguments: Any) -> str:
    """The prompt of a chat body, up to where the model goes on."""
    chat = body if isinstance(body, dict) else json.loads(body)
    return template(name).render(
        messages=[_message(message) for message in chat["messages"]],
        tools=[_tool(tool) for tool in chat.get("tools", [])],
        add_generation_prompt=True,
        strftime_now=today.strftime,
        **chat.get("chat_template_kwargs", {}),
        **arguments,
    )


def common(left: str, right: str) -> int:
    """How many characters two prompts share at their front."""
    return next(
        (at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right))
    )


def _to_json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    function = tool["function"]
    shown = {key: function[key] for key in ("description", "name", "parameters") if key in function}
    return {"type": "function", "function": shown}


def _message(message: dict[str, Any]) -> dict[str, Any]:
    shown = {**message, "content": _text(message.get("content"))}
    if message.get("tool_calls"):
        shown["tool_calls"] = [_call(call) for call in message["tool_calls"]]
    return shown


def _text(content: Any) -> Any:
    return " ".join(part["text"] for part in content) if isinstance(content, list) else content


def _call(call: dict[str, Any]) -> dict[str, Any]:
    function = call["function"]
    arguments = function["arguments"]
    parsed = json.loads(arguments) if isinstance(arguments, str) else arguments
    return {"id": call["id"], "function": {"name": function["name"], "arguments": parsed}}
