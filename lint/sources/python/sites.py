"""Call sites: which calls hand a prompt to a model, and under which argument names.

Recognised by the last words of the callee, so that it does not matter what the client is called.
"""

from __future__ import annotations

import ast
import re
from typing import Final

from lint.sources.python.module import chain
from lint.sources.python.scope import Scope
from lint.sources.python.values import Map, Seq, Text, Value, parts_of

_CHAT = (
    *("messages", "tools", "functions", "model", "response_format", "tool_choice", "system", "cache_control"),
    *("prompt_cache_key", "cache_salt", "extra_body", "echo", "logprobs", "prompt_logprobs", "cache_prompt"),
)
_SITES: Final = (
    ("chat.completions.create chat.completions.parse chat.completions.stream ChatCompletion.create", _CHAT),
    ("ChatCompletion.acreate messages.create messages.stream messages.count_tokens messages.parse", _CHAT),
    ("responses.create responses.parse responses.stream", ("instructions", "input", *_CHAT)),
    ("completions.create Completion.create", ("prompt", "model", *_CHAT)),
)
_SUFFIXES: Final[dict[str, list[tuple[str, tuple[str, ...]]]]] = {}
for _names, _arguments in _SITES:
    for _suffix in _names.split():
        _SUFFIXES.setdefault(_suffix.rpartition(".")[2], []).append((_suffix, _arguments))
_RESOLVED: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("litellm.completion", "litellm.acompletion"), ("model", *_CHAT)),
    **dict.fromkeys(("litellm.text_completion",), ("model", "prompt")),
    **dict.fromkeys(("litellm.responses", "litellm.aresponses"), ("input", "instructions", *_CHAT)),
}
_ROLES: Final = {
    "SystemMessage": "system",
    "SystemMessagePromptTemplate": "system",
    "HumanMessage": "user",
    "AIMessage": "assistant",
    "ToolMessage": "tool",
    "ChatMessage": "",
}
_TEMPLATES: Final = {
    "SystemMessagePromptTemplate": "system",
    "HumanMessagePromptTemplate": "user",
    "AIMessagePromptTemplate": "assistant",
}
_RUN = frozenset("invoke ainvoke stream astream batch abatch chat achat stream_chat".split())
_POST = frozenset({"post", "request"})
_URL = re.compile(r"/(?:chat/completions|completions|responses|messages|generate)\b")


def arguments_of(node: ast.Call, scope: Scope) -> tuple[str, ...] | None:
    """The argument names by which this call takes a prompt, in positional order; None when it is no such call."""
    name = chain(node.func)
    last = name.rpartition(".")[2]
    for suffix, arguments in _SUFFIXES.get(last, ()):
        if name == suffix or name.endswith("." + suffix):
            return arguments
    if last in ("completion", "acompletion", "text_completion", "responses", "aresponses"):
        resolved = scope.resolve(node.func)
        return _RESOLVED.get(resolved)
    if last in _RUN and "." in name:
        return ("messages",)
    return None


def is_post(node: ast.Call) -> bool:
    """Whether this may be an HTTP request with a JSON body."""
    return isinstance(node.func, ast.Attribute) and node.func.attr in _POST


def is_body(url: Value | None, body: Value) -> bool:
    """Whether a JSON body goes to a completion-like URL, or looks like a completion request."""
    address = "".join(part.text or "" for part in parts_of(url)) if url is not None else ""
    if not isinstance(body, Map):
        return False
    keys = {key for key, _ in body.entries}
    return bool(_URL.search(address)) or ("model" in keys and bool(keys & {"messages", "prompt", "input"}))


def message_role(node: ast.Call, scope: Scope) -> str | None:
    """The role of the message that this call constructs ("" when an argument says it), or None."""
    resolved = scope.resolve(node.func)
    if resolved.startswith("sglang."):
        return {"system": "system", "user": "user", "assistant": "assistant"}.get(resolved.removeprefix("sglang."))
    return _ROLES.get(resolved.rpartition(".")[2]) if "." in resolved else None


def template_role(node: ast.Call) -> str:
    """The role of the message whose template this call makes, or ""."""
    owner = chain(node.func).rpartition(".")[0].rpartition(".")[2]
    return _TEMPLATES.get(owner, "")


def looks_like_messages(value: Value) -> bool:
    """Whether a value is a list with at least one message in it (an `invoke` takes anything)."""
    return isinstance(value, Seq) and any(
        isinstance(item, Map) and item.get("content") is not None for item in value.items
    )


def as_message(value: Value) -> Value:
    """A ("system", "text") pair as a message; anything else unchanged."""
    if isinstance(value, Seq) and len(value.items) == 2 and isinstance(value.items[0], Text):
        role = "".join(part.text or "" for part in value.items[0].parts)
        if role in ("system", "human", "user", "ai", "assistant"):
            return Map((("role", value.items[0]), ("content", value.items[1])))
    return value
