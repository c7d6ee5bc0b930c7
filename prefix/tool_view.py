"""What of the tools is rendered: each tool's part of the view, and which of them `tool_choice` shows."""

import json
from collections import OrderedDict
from typing import Any

import xxhash

from prefix.frame import Frame
from prefix.plain import as_list, encode_any
from prefix.scan import value_end

TOOL = b"\xfe"
"""Ends a tool's part: no UTF-8 text contains it (see prefix.view)."""


class ToolViews:
    """Views of tools arrays by hash of their canonical bytes, bounded, least recently used out first."""

    __slots__ = ("_entries", "_limit")

    def __init__(self, limit: int = 512) -> None:
        self._entries: OrderedDict[int, tuple[tuple[str, bytes], ...]] = OrderedDict()
        self._limit = limit

    def views(self, raw: bytes) -> tuple[tuple[str, bytes], ...]:
        """(name, view) of each tool of a canonical tools array."""
        key = xxhash.xxh3_128_intdigest(raw)
        known = self._entries.get(key)
        if known is not None:
            self._entries.move_to_end(key)
            return known
        value_end(raw, 0, depth=1)  # refuses what nests too deep
        made = tuple(_tool_view(tool) for tool in as_list(json.loads(raw)))
        self._entries[key] = made
        if len(self._entries) > self._limit:
            self._entries.popitem(last=False)
        return made


def tool_choice(body: Frame) -> tuple[str, str | None]:
    """The class of tool_choice (what it does to the rendered tools) and the named tool, if one is named."""
    choice = body.value("tool_choice") if "tool_choice" in body else body.value("function_call")
    if choice == "none":
        return "none", None
    if type(choice) is dict:
        if choice.get("type") == "none":
            return "none", None
        function = choice.get("function", choice)
        name = function.get("name") if type(function) is dict else None
        if type(name) is str:
            return f"named:{name}", name
    return "auto", None


def _tool_view(tool: Any) -> tuple[str, bytes]:
    if type(tool) is not dict:
        return "", encode_any(tool) + TOOL
    function = tool.get("function")
    fields = function if type(function) is dict else tool
    shown = [fields.get(key) for key in ("name", "description", "parameters", "strict")]
    if shown[2] is None:
        shown[2] = fields.get("input_schema")
    return str(fields.get("name")), encode_any(shown) + TOOL
