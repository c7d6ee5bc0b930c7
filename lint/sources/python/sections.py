"""A prompt in its sections: tools, system text, then message by message, each with what it says."""

from __future__ import annotations

from typing import Final, NamedTuple

from lint.sources.python.values import Map, Part, Seq, Spread, Text, Value, parts_of

LISTS: Final = frozenset({"window", "edited", "moving"})
"""Kinds that hit a conversation as a whole."""


class Section(NamedTuple):
    """A stretch of a prompt. where: tools, system, prompt, turn, last or history (see Flow)."""

    where: str
    parts: tuple[Part, ...]


def sections_of(arguments: dict[str, Value]) -> list[Section]:
    """The sections of a prompt in the order in which engines write them."""
    sections = [
        Section(where, parts_of(arguments[key]))
        for key, where in (
            ("tools", "tools"),
            ("functions", "tools"),
            ("system", "system"),
            ("instructions", "system"),
        )
        if key in arguments
    ]
    sections += [Section("prompt", parts_of(arguments[key])) for key in ("prompt", "text") if key in arguments]
    for key in ("messages", "input"):
        if key in arguments:
            sections += _messages(arguments[key], key)
    return sections


def _messages(value: Value, key: str) -> list[Section]:
    if not isinstance(value, Seq):
        single = isinstance(value, Text) and key == "input"
        return [Section("last" if single else "history", parts_of(value))]
    sections = [Section("history", value.marks)] if value.marks else []
    last = _last_turn(value)
    for index, item in enumerate(value.items):
        if isinstance(item, Map):
            role = _role(item)
            copied = not role and item.get("role") is not None
            where = "system" if role in ("system", "developer") else "last" if index >= last else "turn"
            where = "history" if copied else where
            sections.append(Section(where, _content(item)))
        else:
            sections.append(Section("history" if _is_history(item) else "last", parts_of(item)))
    return sections


def _is_history(item: Value) -> bool:
    return isinstance(item, Spread | Seq) or any(part.kind in LISTS for part in parts_of(item))


def _content(message: Map) -> tuple[Part, ...]:
    """What a message says; an object may have fields beside that, which are not sent."""
    return tuple(
        part
        for key, value in message.entries
        if (key == "content" or not message.made) and key not in ("role", "name", "type")
        for part in parts_of(value)
        if part.kind not in LISTS
    )


def _role(message: Map) -> str:
    role = message.get("role")
    return "".join(part.text or "" for part in parts_of(role)) if role is not None else ""


def _last_turn(messages: Seq) -> int:
    """The index of the last message that is not the assistant's."""
    for index in range(len(messages.items) - 1, -1, -1):
        item = messages.items[index]
        if isinstance(item, Map) and _role(item) in ("assistant", "ai"):
            continue
        return index
    return 0
