"""Files of tool schemas: `tools.json`, `functions.json`, `…schema.json` with a list of tools, or `{"tools": […]}`.

They are the front of most prompts, so what moves in them is judged as in a request's tools. A file of such a name
that holds something else is read as any other JSON.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, BinaryIO, Final

import msgspec

from lint.bodies import RequestBody, Text
from lint.documents import NotInspected
from lint.rule import Document
from lint.source import Source
from lint.sources import traffic

MAX_BYTES: Final = 8_000_000
_KEYS: Final = ("tools", "functions")


class ToolFile(RequestBody):
    """Tools, as a body that has nothing else; pointers are those of the file."""

    __slots__ = ()

    @property
    def is_constant(self) -> bool:
        """What stands in the file stands in each request."""
        return True

    def texts(self) -> Iterator[Text]:
        """All their texts."""
        for text in super().texts():
            yield text._replace(pointer=text.pointer.removeprefix("/tools"))


def read(filename: str, file: BinaryIO) -> Iterator[Document]:
    """The tools of a file, or what else is in it."""
    raw = file.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        yield NotInspected(filename, f"tool schemas of more than {MAX_BYTES // 1_000_000} MB")
        return
    try:
        held = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        held = None
    if _are_tools(held):
        yield ToolFile(filename, {"tools": held})
    elif isinstance(held, dict) and set(held) & set(_KEYS) and all(_are_tools(held.get(key, [{}])) for key in _KEYS):
        yield RequestBody(filename, held)
    else:
        yield from traffic.read(filename, io.BytesIO(raw))


def _are_tools(held: Any) -> bool:
    return isinstance(held, list) and bool(held) and all(isinstance(item, dict) and _is_tool(item) for item in held)


def _is_tool(item: dict[str, Any]) -> bool:
    """OpenAI's form, older and newer, or Anthropic's; `{}` stands for what is not there."""
    inner = item.get("function")
    tool = inner if isinstance(inner, dict) else item
    return not item or ("name" in tool and bool({"parameters", "input_schema", "description"} & set(tool)))


SOURCE = Source("tool_schema", ("tools.json", "functions.json", "schema.json"), read)
