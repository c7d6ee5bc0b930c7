"""One form for what providers render alike, so that only what changes the prompt is compared.

Clients that set a rolling `cache_control` mark send the message that carries it as a list of one text and all others
as strings; both are the same prompt. The marks themselves are not part of it.
"""

from collections.abc import Mapping
from typing import Any, Final

from prefix.conversations import only_text

_MARK: Final = "cache_control"
_LISTS: Final = ("messages", "input", "system", "tools")


def same_form(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The body without marks, and with messages of one text as that text; itself when it is in that form."""
    lists = {name: body[name] for name in _LISTS if isinstance(body.get(name), list)}
    changed = {name: [_item(item) for item in items] for name, items in lists.items()}
    return {**body, **changed} if any(changed[name] != lists[name] for name in lists) else body


def _item(item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    if _MARK in item:
        item = {key: value for key, value in item.items() if key != _MARK}
    content = item.get("content")
    if not isinstance(content, list):
        return item
    text = only_text(content)
    return {**item, "content": [_item(part) for part in content] if text is None else text}
