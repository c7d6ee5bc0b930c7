"""Parameters of a call site that pick another cache, or none.

The model, the answer's form, the tool choice, a cache key of one request alone, and settings with which engines
compute a prompt again (vLLM and SGLang skip what is cached when log probabilities of the prompt are asked for).
A wrapper's schema is its callers', also in an envelope: one task has one, and only they know the task.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lint.sources.flow import Flow
from lint.sources.python import formats
from lint.sources.python.scope import Hit
from lint.sources.python.values import (
    DEFAULTED,
    EMPTY,
    ENVIRONMENT,
    PARAM,
    STATIC,
    Map,
    Part,
    Seq,
    Value,
    param,
    parts_of,
    volatile,
)

_PROMPT: Final = ("system", "instructions", "messages", "input", "prompt")
_KEYS: Final = ("prompt_cache_key", "cache_salt")
_OFF: Final = frozenset({"", "0", "False", "false"})
_ONCE: Final = frozenset({"id", "clock", "random"})


def scope_flows(hit: Hit) -> list[Flow]:
    """What picks another cache altogether: the model, the answer's schema, the tool choice."""
    found: list[Flow] = []
    for key, kind in (("model", "model"), ("response_format", "format"), ("tool_choice", "choice")):
        value = hit.arguments.get(key)
        if value is None or key not in hit.places or _forced(hit, key):
            continue
        changes = _drawn(value, hit.places[key]) or (
            _given(value, key) and not (key == "response_format" and _is_wrapper(hit))
        )
        if changes or _deployed(value):
            row, column = hit.places[key]
            told = kind if changes or kind != "model" else "deployed"
            loose = (kind == "choice" and _is_wrapper(hit)) or (kind == "format" and not _is_whole(value))
            found.append(Flow(told, key, row, column, hit.name, hit.row, "scope", 0, True, loose))
    return [*found, *_cached(hit)]


def _forced(hit: Hit, key: str) -> bool:
    """A tool choice of the only tool there is."""
    tools = hit.arguments.get("tools")
    items = tools.items if isinstance(tools, Seq) else ()
    return key == "tool_choice" and len(items) == 1 and isinstance(items[0], Map)


def _is_wrapper(hit: Hit) -> bool:
    """Whether the caller says all: the whole conversation, or the model and every word of the prompt."""
    prompt = [hit.arguments[key] for key in _PROMPT if key in hit.arguments]
    if any(param(value) for value in prompt):
        return True
    rules = hit.arguments.get("system") or hit.arguments.get("instructions") or _rules(hit.arguments.get("messages"))
    if rules is not None and param(rules):
        return True
    model = hit.arguments.get("model")
    spoken = (part for value in prompt for part in _spoken(value))
    return model is not None and param(model) is not None and all(part.kind != STATIC for part in spoken)


def _rules(messages: Value | None) -> Value | None:
    """The system text of messages: who says that says what is asked for, and in which form."""
    items = messages.items if isinstance(messages, Seq) else ()
    first = items[0] if items else None
    role = parts_of(first.get("role") or EMPTY) if isinstance(first, Map) else ()
    is_system = "".join(part.text or "" for part in role) in ("system", "developer")
    return first.get("content") if isinstance(first, Map) and is_system else None


def _spoken(value: Value) -> Iterator[Part]:
    """What a prompt says, without the roles of its messages."""
    for item in value.items if isinstance(value, Seq) else (value,):
        yield from parts_of((item.get("content") or EMPTY) if isinstance(item, Map) else item)


def _drawn(value: Value, place: tuple[int, int]) -> bool:
    """Whether it is drawn, or read anew by each call and another one where the environment does not say it."""
    parts = parts_of(value)
    return any(
        part.kind in ("sampled", "random") or (part.kind == DEFAULTED and (part.row, part.column) == place)
        for part in parts
    )


def _deployed(value: Value) -> bool:
    """Whether the environment says it: one for all that a deployment sends."""
    return any(part.kind in (ENVIRONMENT, DEFAULTED) for part in parts_of(value))


def _given(value: Value, key: str) -> bool:
    """Whether an argument that the caller gave has another name here, or stands inside something."""
    structured = key != "response_format" or (isinstance(value, Map) and not value.made)
    value = _schema(value) if isinstance(value, Map) else value
    return (
        key != "model"
        and structured
        and any(part.kind == PARAM and "." not in part.label and part.label != key for part in parts_of(value))
    )


def _is_whole(value: Value) -> bool:
    """Whether a schema is given or drawn as a whole, and not a number or a name in one that the code writes."""
    held = _schema(value) if isinstance(value, Map) else value
    if not isinstance(held, Map) or held.made:
        return True
    return param(held.get("json_schema") or EMPTY) is not None or _drawn(held, (0, 0))


def _schema(given: Map) -> Value:
    """The schema in a response format; whether it is strict, and its name, go with it."""
    inner = given.get("json_schema")
    held = inner.get("schema") if isinstance(inner, Map) else given.get("schema")
    return given if held is None else held


def _cached(hit: Hit) -> Iterator[Flow]:
    """What keeps a request from finding, or sharing, a cached prompt."""
    extra = hit.arguments.get("extra_body")
    given = {**(dict(extra.entries) if isinstance(extra, Map) else {}), **hit.arguments}
    for key in _KEYS:
        part = next((part for part in volatile(given.get(key, EMPTY)) if part.kind in _ONCE), None)
        if part is not None:
            label = f"{part.label} in {key}"
            yield Flow("cache_key", label, part.row, part.column, hit.name, hit.row, "scope", 0, True, part.loose)
    for key, label in _bypasses(given):
        row, column = hit.places.get(key) or hit.places.get("extra_body") or (hit.row, hit.column)
        yield Flow("bypass", label, row, column, hit.name, hit.row, "scope", 0, True)


def _bypasses(given: dict[str, Value]) -> Iterator[tuple[str, str]]:
    if _on(given, "prompt_logprobs"):
        yield "prompt_logprobs", "prompt_logprobs"
    elif _on(given, "echo") and _on(given, "logprobs"):
        yield "echo", "echo with logprobs"
    if formats.known(given.get("cache_prompt", EMPTY)) == "False":
        yield "cache_prompt", "cache_prompt=False"
    if _on(given, "return_logprob") and formats.known(given.get("logprob_start_len", EMPTY)) == "0":
        yield "logprob_start_len", "logprob_start_len=0"


def _on(given: dict[str, Value], key: str) -> bool:
    return key in given and formats.known(given[key]) not in (None, *_OFF)
