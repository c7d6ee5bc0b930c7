"""Why two prompts part: a name for the cause, the two values, and what to do about it.

A divergence (prefix.divergence) says where; this says what. What keeps whole caches apart comes first, then the
order and the set of tools, then the shape of the conversation, then what differs in the one text. How much a cause
costs is not decided here but counted (prefix.realign): a clock behind everything else is harmless. The kinds follow
the public reports in tests/data/cases; what each means and what to do about it: prefix.explanations.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from prefix.conversations import is_newest, kind_of_turn, only_text, other_order
from prefix.divergence import MISSING, Divergence, compact_json, value_at
from prefix.explanations import Kind
from prefix.parameters import parameter_changes
from prefix.texts import TextChange, text_change

_TOOLS: Final = ("tools", "functions")
_REASONING: Final = ("reasoning_content", "reasoning", "thinking")
_CALL_IDS: Final = ("id", "call_id", "tool_call_id", "tool_use_id")
_MEDIA: Final = frozenset(("image_url", "input_image", "source", "video_url", "audio_url", "input_audio", "file"))
_HARMLESS_WHEN_NEW: Final = frozenset(
    ("clock", "date", "request_id", "attribution", "environment", "hostname", "counter")
)
_OWNERS: Final[dict[str, Kind]] = {
    "tools": "tool_text",
    "functions": "tool_text",
    "system": "system_text",
    "instructions": "system_text",
    "input_ids": "token_ids",
}


@dataclass(frozen=True, slots=True)
class Cause:
    """kind: a key of EXPLANATIONS. path: JSON pointer. offset: code points into the text at path, None when it is no
    text. a, b: the two differing values as text, None where there is none."""

    kind: Kind
    path: str
    offset: int | None
    a: str | None
    b: str | None

    def __str__(self) -> str:
        """As telemetry and the linter say it: `clock in /messages/0/content at 1,893`."""
        place = "" if self.offset is None else f" at {self.offset:,}"
        return f"{self.kind.replace('_', ' ')} in {self.path}{place}"


@dataclass(frozen=True, slots=True)
class _Parted:
    """Two bodies and where they part. turns: the messages of both from the first different one on, ([], []) when it
    is no message in which they part."""

    a: Mapping[str, Any]
    b: Mapping[str, Any]
    where: Divergence
    parts: list[str]
    value_a: Any
    value_b: Any
    turns: tuple[list[Any], list[Any]]

    @property
    def member(self) -> str:
        return self.parts[0]

    def cause(self, kind: Kind, a: str | None, b: str | None) -> Cause:
        return Cause(kind, self.where.path, None, a, b)

    def item_cause(self, kind: Kind, a: str | None, b: str | None) -> Cause:
        """Of the whole message or tool in which they part."""
        return Cause(kind, "".join(f"/{part}" for part in self.parts[:2]), None, a, b)


def find_cause(a: Mapping[str, Any], b: Mapping[str, Any], where: Divergence | None) -> Cause | None:
    """Why two parsed bodies part. where: `first_divergence(a, b)`. None when nothing keeps them apart."""
    for change in parameter_changes(a, b):
        return Cause(change.kind, f"/{change.name}", None, change.a, change.b)
    if where is None:
        return None
    parts = where.path.split("/")[1:]
    turns = _turns(a, parts), _turns(b, parts)
    parted = _Parted(a, b, where, parts, value_at(a, where.path), value_at(b, where.path), turns)
    return next(cause for detect in _DETECTORS if (cause := detect(parted)) is not None)


def _turns(body: Mapping[str, Any], parts: Sequence[str]) -> list[Any]:
    turns = body.get(parts[0])
    if parts[0] in ("messages", "input") and len(parts) > 1 and isinstance(turns, list):
        return turns[int(parts[1]) :]
    return []


def _tools(parted: _Parted) -> Cause | None:
    if parted.member not in _TOOLS:
        return None
    one, other = (tool_names(body.get(parted.member)) for body in (parted.a, parted.b))
    index = int(parted.parts[1]) if len(parted.parts) > 1 and parted.parts[1].isdecimal() else 0
    if one[index : index + 1] == other[index : index + 1]:
        return None  # the difference is inside a tool that both have there
    if Counter(one) == Counter(other):
        return parted.item_cause("tool_order", ", ".join(one), ", ".join(other))
    only = [Counter(one) - Counter(other), Counter(other) - Counter(one)]
    return parted.item_cause("tool_set", *(", ".join(names) or None for names in only))


def tool_names(tools: Any) -> list[str]:
    """The names of tools, the JSON of those that have none."""
    found: list[str] = []
    for tool in tools if isinstance(tools, list) else ():
        function = tool.get("function", tool) if isinstance(tool, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        found.append(name if isinstance(name, str) else value_text(tool) or "")
    return found


def _order_of_members(parted: _Parted) -> Cause | None:
    where = parted.where
    return parted.cause("key_order", where.key_a, where.key_b) if where.reason == "key_order" else None


def _appended(parted: _Parted) -> Cause | None:
    """Of two conversations, prompts or lists of token ids the one begins with all of the other."""
    a, b = parted.value_a, parted.value_b
    if parted.member in _TOOLS:
        return None
    if parted.where.reason == "append" and len(parted.parts) == 2:
        return parted.cause("appended", value_text(a), value_text(b))
    at = parted.where.char_offset
    if at is not None and len(parted.parts) == 1 and at in (len(a), len(b)):
        return Cause("appended", parted.where.path, at, a[at:] or None, b[at:] or None)
    return None


def _order_of_messages(parted: _Parted) -> Cause | None:
    kind = other_order(*parted.turns)
    return parted.item_cause(kind, *map(_said, parted.turns)) if kind else None


def _said(turns: Sequence[Any]) -> str | None:
    return value_text(turns[0]) if turns else None


def _fields(parted: _Parted) -> Cause | None:
    a, b, name = parted.value_a, parted.value_b, parted.parts[-1]
    if parted.where.reason == "type" and only_text(a) == only_text(b) is not None:
        return parted.cause("content_form", value_text(a), value_text(b))
    if any(parted.turns) and name in _REASONING and parted.where.reason == "key_missing":
        return parted.cause("reasoning_dropped", value_text(a), value_text(b))
    if any(parted.turns) and name in _CALL_IDS and parted.where.reason == "string":
        return parted.cause("call_id", a, b)
    return None


def _text(parted: _Parted) -> Cause:
    """What differs in the one text, by its look; where that is nothing but other words: whose they are."""
    change = _change(parted)
    if change is None:
        return parted.cause(_owner_of_text(parted), value_text(parted.value_a), value_text(parted.value_b))
    harmless = change.kind in _HARMLESS_WHEN_NEW and is_newest(*parted.turns)
    kind = _owner_of_text(parted) if change.kind == "text" or harmless else change.kind
    return Cause(kind, parted.where.path, change.start, change.a, change.b)


def _owner_of_text(parted: _Parted) -> Kind:
    if parted.member in _OWNERS:
        return _OWNERS[parted.member]
    if not any(parted.turns):
        return "text"
    return kind_of_turn(*parted.turns) if _MEDIA.isdisjoint(parted.parts) else "media"


def _change(parted: _Parted) -> TextChange | None:
    is_text = parted.where.reason == "string"
    return text_change(parted.value_a, parted.value_b) if is_text else None


def value_text(value: Any) -> str | None:
    """A value as text: a message by what it says."""
    if value is MISSING:
        return None
    if isinstance(value, dict) and isinstance(value.get("content"), str):
        value = value["content"]
    return value if isinstance(value, str) else compact_json(value).decode(errors="replace")


_DETECTORS: Final[tuple[Callable[[_Parted], Cause | None], ...]] = (
    _tools,
    _order_of_members,
    _appended,
    _order_of_messages,
    _fields,
    _text,
)
