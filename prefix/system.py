"""The system text of a prompt: what the operator says, wherever the shape of the body keeps it.

OpenAI chat and Anthropic messages: top-level `system` and the messages of role `system` or `developer`. Responses:
`instructions` and the items of those roles in `input`. Completions and SGLang's `/generate` have none. A content is
a string or an array of parts, of which those of type `text` and `input_text` (and bare strings) are text.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from prefix.body import Body
from prefix.place import Path

SYSTEM_ROLES = ("system", "developer")
_TEXT_PARTS = ("text", "input_text")


class SystemText(NamedTuple):
    """One piece of system text.

    leading: nothing of the conversation stands before it. part: its place in an array of parts, None for a string.
    """

    path: Path
    text: str
    leading: bool
    part: int | None

    @property
    def content(self) -> Path:
        """The path of the content that this text is, or is a part of."""
        return self.path if self.part is None else self.path[: len(self.path) - 1 - (self.path[-1] == "text")]


def turns(body: Body) -> tuple[str, list[Any]]:
    """The member that holds the conversation, and its items: ("", []) when the body is no conversation."""
    for key in ("messages", "input"):
        if key in body:
            value = body.value(key)
            return key, value if type(value) is list else []
    return "", []


def system_texts(body: Body) -> list[SystemText]:
    """All system text, in the order the prompt has it."""
    key, items = turns(body)
    front = "system" if key == "messages" else "instructions"
    found: list[SystemText] = []
    if key and front in body:
        found += _texts((front,), body.value(front), leading=True)
    leading = True
    for place, item in enumerate(items):
        if type(item) is dict and item.get("role") in SYSTEM_ROLES:
            found += _texts((key, place, "content"), item.get("content"), leading=leading)
        else:
            leading = False
    return found


def first_content(body: Body) -> Path | None:
    """The path of the first system content that holds anything, text or not."""
    key, items = turns(body)
    front = "system" if key == "messages" else "instructions"
    if key and front in body and body.value(front) not in (None, []):
        return (front,)
    for place, item in enumerate(items):
        if type(item) is not dict or item.get("role") not in SYSTEM_ROLES:
            return None
        if item.get("content") not in (None, []):
            return (key, place, "content")
    return None


def _texts(path: Path, content: Any, *, leading: bool) -> Iterator[SystemText]:
    if type(content) is str:
        yield SystemText(path, content, leading, None)
    for place, part in enumerate(content if type(content) is list else ()):
        if type(part) is str:
            yield SystemText((*path, place), part, leading, place)
        elif type(part) is dict and type(part.get("text")) is str and part.get("type") in _TEXT_PARTS:
            yield SystemText((*path, place, "text"), part["text"], leading, place)
