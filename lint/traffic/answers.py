"""What a model said, out of the response it was logged in and out of the turn that a client sends back.

Both are brought to one form, so that they can be compared: the text, the calls with their arguments parsed (engines
parse them too before a template prints them), and whether there was reasoning. Shapes: OpenAI chat and Responses,
Anthropic, Bedrock Converse, OpenTelemetry's parts, and the bare message that tracing tools keep.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from lint.traffic.exports.given import given
from lint.traffic.exports.parts import plain_message

_DEEPEST: Final = 4
_TEXTS: Final = frozenset((None, "text", "output_text"))
_RESPONSE: Final = frozenset(("choices", "content", "output", "message", "tool_calls"))
_THOUGHT: Final = re.compile(r"\s*<think>.*?</think>\s*", re.DOTALL)


class Call(NamedTuple):
    """A tool call. arguments: parsed, with the order of keys as it is; raw: as written, None for objects."""

    name: str
    arguments: Any
    raw: str | None


class Said(NamedTuple):
    """One answer. text: what it says, without thoughts. thought: a `<think>` block was in its text."""

    text: str
    calls: tuple[Call, ...]
    thought: bool

    def __bool__(self) -> bool:
        return bool(self.text.strip() or self.calls)


def answered(answer: Any) -> Said | None:
    """What a logged response says; None when it says nothing that is understood."""
    return _said(_items(answer, _DEEPEST))


def sent_back(turns: Sequence[Any], at: int) -> Said | None:
    """What the answer that stands at `at` of a conversation says; None when no answer stands there."""
    items: list[Any] = []
    for turn in turns[at:]:
        if not _is_answer(turn):
            break
        items.append(turn)
    return _said(items)


def _is_answer(turn: Any) -> bool:
    return isinstance(turn, dict) and (
        turn.get("role") == "assistant" or turn.get("type") in ("function_call", "reasoning")
    )


def _items(answer: Any, deep: int) -> list[Any]:
    """The messages and items of a response."""
    if isinstance(answer, str):
        return _items_of_text(answer, deep)
    if isinstance(answer, list):
        return [plain_message(item) for item in answer if _is_answer(item)]
    if not isinstance(answer, dict) or not deep:
        return []
    choices = answer.get("choices")
    if isinstance(choices, list):
        return _items(choices[0], deep - 1) if len(choices) == 1 else []
    for name in ("message", "output", "response"):
        if name in answer and not isinstance(answer[name], str):
            return _items(answer[name], deep - 1)
    return [answer] if "content" in answer or "tool_calls" in answer else []


def _items_of_text(answer: str, deep: int) -> list[Any]:
    """A text is an answer, unless it is a response as JSON, or the events of a streamed one, which are not read."""
    if answer.startswith(("data:", "event:")):
        return []
    if answer.startswith(("{", "[")) and deep:
        value = given(answer)
        is_response = isinstance(value, dict) and not _RESPONSE.isdisjoint(value)
        if is_response or (isinstance(value, list) and value and all(map(_is_answer, value))):
            return _items(value, deep - 1)
    return [{"role": "assistant", "content": answer}]


def _said(items: Sequence[Any]) -> Said | None:
    texts: list[str] = []
    calls: list[Call] = []
    for item in items:
        texts += _texts(item.get("content"))
        calls += _calls(item)
    text = "".join(texts)
    thoughtless = _THOUGHT.sub("", text)
    said = Said(thoughtless, tuple(calls), thoughtless != text)
    return said or None


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and part.get("type") in _TEXTS and isinstance(part.get("text"), str):
            yield part["text"]


def _calls(item: dict[str, Any]) -> Iterator[Call]:
    content = item.get("content")
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    made = item.get("tool_calls")
    for call in made if isinstance(made, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            yield _call(function.get("name"), function.get("arguments"))
    for part in (item, *parts):
        if part.get("type") in ("function_call", "tool_use"):
            yield _call(part.get("name"), part.get("arguments", part.get("input")))
        elif isinstance(part.get("toolUse"), dict):
            yield _call(part["toolUse"].get("name"), part["toolUse"].get("input"))


def _call(name: Any, arguments: Any) -> Call:
    if not isinstance(arguments, str):
        return Call(str(name), arguments, None)
    try:
        return Call(str(name), json.loads(arguments), arguments)
    except (ValueError, RecursionError):
        return Call(str(name), arguments, arguments)
