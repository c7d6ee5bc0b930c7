"""One form for what is rendered alike, so that only what changes the prompt is compared.

Clients that set a rolling `cache_control` mark send the message that carries it as a list of one text and all others
as strings; both are the same prompt. The marks themselves are not part of it. Nor is the order in which a message
says its role and its content, or, on engines, a tool its name, description and parameters: they are read into typed
models and written out in the models' order (tests/data/cases/17). What providers do with a tool's members is theirs
to know, so for their models the order counts, as it does inside of `parameters` for all.
"""

from collections.abc import Mapping
from typing import Any, Final

from lint.breakpoints import model_of
from lint.providers import smallest_prefix
from prefix.conversations import only_text

_MARK: Final = "cache_control"
_LISTS: Final = ("messages", "input", "system", "tools")
_ORDER: Final = ("type", "role", "name", "description", "content", "function", "parameters", "input_schema", "strict")
_RANK: Final = {name: rank for rank, name in enumerate(_ORDER)}


def same_form(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The body without marks, and with messages of one text as that text; itself when it is in that form."""
    lists = {name: body[name] for name in _LISTS if isinstance(body.get(name), list)}
    changed = {name: [_item(item) for item in items] for name, items in lists.items()}
    if "tools" in changed and smallest_prefix(model_of(body)) is None:
        changed["tools"] = [_declared(tool) for tool in changed["tools"]]
    for name in ("messages", "input"):
        if name in changed:
            changed[name] = [_ordered(turn) if _is_odd(turn) else turn for turn in changed[name]]
    same = all(new is old for name, items in lists.items() for new, old in zip(changed[name], items, strict=True))
    return body if same else {**body, **changed}


def _item(item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    if _MARK in item:
        item = {key: value for key, value in item.items() if key != _MARK}
    content = item.get("content")
    if not isinstance(content, list):
        return item
    text = only_text(content)
    if text is None:
        parts = [_item(part) for part in content]
        same = all(new is old for new, old in zip(parts, content, strict=True))
        return item if same else {**item, "content": parts}
    return {**item, "content": text}


def _is_odd(turn: Any) -> bool:
    """A message that does not begin with its role, or an item with its type."""
    return isinstance(turn, dict) and "role" in turn and next(iter(turn)) not in ("role", "type")


def _declared(tool: Any) -> Any:
    if not isinstance(tool, dict):
        return tool
    function = tool.get("function")
    ordered = _ordered(function) if isinstance(function, dict) else function
    return _ordered(tool if ordered is function else {**tool, "function": ordered})


def _ordered(item: dict[str, Any]) -> dict[str, Any]:
    """Members that the APIs declare first, in one order, then all others in theirs."""
    ranks = [_RANK.get(name, len(_RANK)) for name in item]
    if ranks == sorted(ranks):
        return item
    return {name: item[name] for name in sorted(item, key=lambda name: _RANK.get(name, len(_RANK)))}
