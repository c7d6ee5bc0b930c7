"""What a request would have been, had the cause of a loss been mended as its finding proposes.

Mends are made from a loss and know nothing of the requests they will meet, so that all requests of a template come
out alike, those in which the cause did not strike too. What a finding proposes but the log cannot show (messages that
a client dropped, the ids that calls once had) has no mend, and a reason instead: no figure is made up for it.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from lint.traffic.losses import Loss
from prefix.causes import tool_names
from prefix.divergence import MISSING, value_at
from prefix.normalize import clean
from prefix.parameters import FIELDS
from prefix.system import SYSTEM_ROLES
from prefix.texts import VOLATILE

Body = Mapping[str, Any]
Mend = Callable[[Body], Body]

_UNMENDED: Final = {
    "window_slid": "the messages that were cut off are not in the request",
    "history_edited": "what an edited message said before is not in the request",
    "reasoning_dropped": "the reasoning that was left out is not in the request",
    "call_id": "the ids that calls had before are not in the request",
    "tool_set": "which tools a constant set would hold is for you to say",
    "volatile_tool_text": "where the text of the tool would stand instead is for you to say",
    "forked_template": "which of the two templates would stay is for you to say",
    "moving_insert": "where the reminder would stand instead is for you to say",
    "tool_text": "which text of the tool would be the constant one is for you to say",
    "media": "what an image or a file costs in tokens is not known",
    "token_ids": "token ids say nothing of the text",
}
_WORDS: Final = frozenset(
    ("text", "system_text", "new_message", "other_conversation", "user_text", "retrieved_text", "address_repr")
)
_TOOLS: Final = ("/tools", "/functions")
_DECODER: Final = json.JSONDecoder()
_OPENING: Final = re.compile(r"[{\[]")
_BLANKS: Final = re.compile(r" [ \t]+|\n\n+|\t[ \t]+")
_EDGE: Final = 24
_TRIES: Final = 64
"""Brackets of a text that may begin no JSON: trying each would take the square of a hostile one."""
_CARRIERS: Final = ("messages", "input", "prompt", "text")


def mend(loss: Loss) -> Mend | str:
    """The mend of a loss, or why there is none."""
    if loss.kind in _UNMENDED:
        return _UNMENDED[loss.kind]
    if loss.kind == "response_format" or loss.kind in FIELDS.values():
        return _constant(loss.pointer[1:], loss.values[0])
    if loss.kind == "tool_order":
        return _at(_TOOLS, _sorted_tools)
    if loss.kind == "few_shot_order":
        return _sorted_examples
    if loss.kind in ("key_order", "json_format"):
        in_tools = loss.pointer.startswith(_TOOLS)
        return _at(_TOOLS if in_tools else loss.pointers, _sorted_keys)
    if loss.kind in ("whitespace", "unicode_form", "content_form"):
        return _at(loss.pointers, _in_one_form)
    if loss.kind in ("text_order", "document_order"):
        return _at(loss.pointers, _sorted_lines)
    if loss.offset is not None and (loss.kind in _WORDS or loss.kind in VOLATILE.values()):
        return _moving(
            loss.pointers, lambda text: (_without_values if loss.context.cuts else _without_lines)(text, loss)
        )
    return "no change of the prompt is proposed"


def _constant(name: str, value: str | None) -> Mend:
    """The same for all requests; which value it has says nothing to a cache."""
    return lambda body: {**body, name: value}


def _at(pointers: Sequence[str], change: Callable[[Any], Any]) -> Mend:
    def mended(body: Body) -> Body:
        for pointer in pointers:
            value = value_at(body, pointer)
            body = body if value is MISSING else _replaced(body, pointer.split("/")[1:], change(value))
        return body

    return mended


def _moving(pointers: Sequence[str], change: Callable[[str], tuple[str, str]]) -> Mend:
    """Takes text out of the prompt and puts it at its end."""

    def mended(body: Body) -> Body:
        moved = []
        for pointer in pointers:
            text = value_at(body, pointer)
            if isinstance(text, str):
                kept, out = change(text)
                body = _replaced(body, pointer.split("/")[1:], kept)
                moved.append(out)
        return _with_end(body, "\n".join(filter(None, moved)))

    return mended


def _replaced(value: Any, parts: Sequence[str], new: Any) -> Any:
    """A copy of a value with another one at a place that is there."""
    if not parts:
        return new
    if isinstance(value, list):
        at = int(parts[0])
        return [*value[:at], _replaced(value[at], parts[1:], new), *value[at + 1 :]]
    name = parts[0].replace("~1", "/").replace("~0", "~")
    return {**value, name: _replaced(value[name], parts[1:], new)}


def _with_end(body: Body, text: str) -> Body:
    """The body with a text behind all that it says."""
    name = next((name for name in _CARRIERS if body.get(name)), None)
    if not text or name is None:
        return body
    said = body[name]
    if isinstance(said, list) and isinstance(said[-1], dict):
        content = said[-1].get("content")
        more = [{"type": "text", "text": text}]
        end = f"{content}\n{text}" if isinstance(content, str) else [*content, *more] if content else more
        return {**body, name: [*said[:-1], {**said[-1], "content": end}]}
    return {**body, name: f"{said}\n{text}"} if isinstance(said, str) else body


def _without_values(text: str, loss: Loss) -> tuple[str, str]:
    """Without the values alone."""
    kept: list[str] = []
    moved: list[str] = []
    at = 0
    for cut in loss.context.cuts:
        found = cut.find(text, max(0, at - len(cut.before)))
        if found is not None and found[0] >= at:
            kept.append(text[at : found[0]])
            moved.append(text[found[0] : found[1]])
            at = found[1]
    return "".join(kept) + text[at:], " ".join(moved)


def _without_lines(text: str, loss: Loss) -> tuple[str, str]:
    """Without the lines from the one that varies first up to the text that is the same again, or to the end. A text
    that does not begin as those do in which it varies is left as it is."""
    offset, before = loss.offset or 0, loss.context.before[-_EDGE:]
    if not text.endswith(before, 0, offset):
        return text, ""
    start = text.rfind("\n", 0, min(offset, len(text))) + 1
    end = text.find(loss.context.behind, start) if loss.context.behind else len(text)
    return (text, "") if end < 0 else (text[:start] + text[end:], text[start:end])


def _sorted_tools(tools: Any) -> Any:
    if not isinstance(tools, list):
        return tools
    names = tool_names(tools)
    return [tools[at] for at in sorted(range(len(tools)), key=lambda at: names[at])]


def _sorted_examples(body: Body) -> Body:
    """The messages between the system text and the last one, in one order."""
    name = next((name for name in ("messages", "input") if isinstance(body.get(name), list)), None)
    if name is None:
        return body
    turns = body[name]
    first = next((at for at, turn in enumerate(turns) if not _is_system(turn)), len(turns))
    middle = sorted(turns[first:-1], key=lambda turn: json.dumps(turn, sort_keys=True))
    return {**body, name: [*turns[:first], *middle, *turns[max(first, len(turns) - 1) :]]}


def _is_system(turn: Any) -> bool:
    return isinstance(turn, dict) and turn.get("role") in SYSTEM_ROLES


def _sorted_lines(text: Any) -> Any:
    return "\n".join(sorted(text.split("\n"))) if isinstance(text, str) else text


def _in_one_form(text: Any) -> Any:
    return _BLANKS.sub(lambda run: run[0][0], clean(text)[0]) if isinstance(text, str) else text


def _sorted_keys(value: Any) -> Any:
    """JSON in one spelling: a value, or the documents in a text."""
    if not isinstance(value, str):
        try:
            return json.loads(json.dumps(value, sort_keys=True))
        except RecursionError:
            return value
    parts: list[str] = []
    at = done = 0
    tries = _TRIES
    while tries and (opening := _OPENING.search(value, at)) is not None:
        try:
            document, end = _DECODER.raw_decode(value, opening.start())
        except (ValueError, RecursionError):
            at, tries = opening.end(), tries - 1
            continue
        parts += (value[done : opening.start()], json.dumps(document, sort_keys=True))
        at = done = end
    return "".join(parts) + value[done:]
