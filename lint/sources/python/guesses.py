"""Prompts that no known call site gets: named as prompts, written as messages, or returned by what is called one.

Most code hands its prompt to a wrapper of its own, in another module. Then the value itself has to say what it is.
Less is known about where it ends up, so only text that is certain to change counts here, and only static text that
stands behind it in the same value (`Hit.guessed`, see weigh).
"""

from __future__ import annotations

import ast
import functools
from typing import Final

from lint.sources import names
from lint.sources.python.call import Call
from lint.sources.python.module import Function, chain
from lint.sources.python.origins import PER_PROCESS
from lint.sources.python.scope import Hit, Scope, place
from lint.sources.python.sites import looks_like_messages
from lint.sources.python.values import Map, Text, Value, retag, volatile

_SYSTEM: Final = frozenset({"system", "sys"})
_TEXT: Final = frozenset("prompt message msg instruction instructions text content template".split())
_ALONE: Final = frozenset({"instructions", "preamble"})
_GENERATES: Final = frozenset(
    """generate async_generate agenerate predict apredict complete acomplete chat achat ask aask invoke ainvoke
    kickoff send_message generate_text generate_content run_sync""".split()
)
_MODEL: Final = frozenset(
    """chat completion completions complete acomplete generate agenerate invoke ainvoke llm ask aask model call acall
    predict respond response responses create send stream astream prompt query gpt claude""".split()
)
"""Words in the names of calls that send messages to a model."""
_COMPACTS: Final = frozenset("summarized summarize summary compact compacted compaction".split())
"""Words of functions that cut a conversation seldom, and on purpose."""
_KEEPS: Final = frozenset(
    """append extend insert add update dumps dump print len debug info warning error log exception isinstance
    count_tokens token_counter put write setdefault""".split()
)
"""Calls that only keep or measure what they are given."""


@functools.lru_cache(maxsize=8192)
def kind_of_name(name: str) -> str:
    """The argument that a text of this name would be: "system", "prompt", or "" for other names."""
    found = names.words(name)
    if not found:
        return ""
    if found[-1] in _ALONE or (_SYSTEM & set(found) and found[-1] in _TEXT):
        return "system"
    return "prompt" if found[-1] == "prompt" or (found[-1] in ("template", "text") and "prompt" in found) else ""


def named(name: str, value: Value, node: ast.expr | ast.stmt, scope: Scope) -> None:
    """A value was given this name."""
    kind = kind_of_name(name)
    if kind and isinstance(value, Text):
        _note(name, {kind: retag(value, PER_PROCESS) if scope.top else value}, node, scope)


def spoken(message: Map, node: ast.expr, scope: Scope) -> None:
    """A message was written; that of the system counts wherever it goes."""
    content = message.get("content")
    if content is not None and role_of(message) in ("system", "developer"):
        _note("a system message", {"system": content}, node, scope)


def role_of(message: Map) -> str:
    """The role of a message, as far as it is known."""
    role = message.get("role")
    return "".join(part.text or "" for part in role.parts) if isinstance(role, Text) else ""


def handed(call: Call) -> None:
    """A call of which nothing is known got messages, or a text under a telling name."""
    name = chain(call.node.func).removeprefix("().")
    last = name.rpartition(".")[2]
    if last in _KEEPS:
        return
    for key, value in call.named.items():
        named(key, value, call.node, call.scope)
    messages = next((value for value in call.everything if looks_like_messages(value)), None)
    if messages is not None and _MODEL & set(names.words(last)) and not _is_answer(last):
        _note(
            name,
            {"messages": messages, **{k: v for k, v in call.named.items() if k == "tools"}},
            call.node,
            call.scope,
        )
    elif last in _GENERATES and call.positional and isinstance(call.first(), Text):
        _note(name, {"prompt": call.first()}, call.node, call.scope)


def _is_answer(name: str) -> bool:
    """Whether this is the class of what a model answered, and not a call of one."""
    return name[:1].isupper() and names.words(name)[-1] in ("response", "responses", "completion", "completions")


def returned(function: Function, value: Value, scope: Scope) -> None:
    """A function that is called a prompt, or is registered as one, returned this."""
    decorated = next((kind_of_name(_decorator(node)) for node in function.decorator_list), "")
    kind = decorated or kind_of_name(function.name)
    if looks_like_messages(value):
        if _COMPACTS & set(names.words(function.name)):
            return
        _note(function.name, {"messages": value}, function, scope)
    elif kind and isinstance(value, Text):
        _note(function.name, {kind: value}, function, scope)


def _decorator(node: ast.expr) -> str:
    return chain(node.func if isinstance(node, ast.Call) else node).rpartition(".")[2]


def _note(name: str, arguments: dict[str, Value], node: ast.expr | ast.stmt, scope: Scope) -> None:
    if any(volatile(value) for value in arguments.values()):
        row, column = place(node)
        scope.run.hits.append(Hit(name, row, column, arguments, {}, guessed=True))
