"""A note that moves: sent at the end of one turn, gone from there in the next, and at the end again.

A reminder that is put before or behind the newest message, and only there, changes what was sent with every turn: the
answer to it was generated behind the note and is computed again without it. Seen in the two bodies alone: without the
note, all of the older conversation begins the newer one, and the newer one has such a note further on.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from prefix.conversations import only_text
from prefix.divergence import compact_json
from prefix.system import SYSTEM_ROLES

_LEAST: Final = 16
"""Code points of a note."""
_ALIKE: Final = 16
"""Code points at the beginning by which a note with other words is known again."""


class Insert(NamedTuple):
    """A note that moved. pointer: where it stood. text: it. lost: bytes of what has to be computed again."""

    pointer: str
    text: str
    lost: int


def moved_insert(a: Mapping[str, Any], b: Mapping[str, Any]) -> Insert | None:
    """The note that stands in the older body and has moved in the newer one."""
    key = "input" if "input" in a else "messages"
    older, newer = a.get(key), b.get(key)
    if not isinstance(older, list) or not isinstance(newer, list) or len(older) < 2 or not grew(a, b):
        return None
    at = next((at for at, (x, y) in enumerate(zip(older, newer, strict=False)) if x != y), None)
    if at is None:
        return None
    text = _message(older, newer, at) or _part(older, newer, at)
    if text is None or _answered(newer) <= at:
        return None
    return Insert(f"/{key}/{at}", text, len(compact_json(newer[at : _answered(newer)])))


def grew(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    """Whether the newer body has more turns: no two requests of one conversation have equally many."""
    sizes = [
        sum(len(body[key]) for key in ("messages", "input") if isinstance(body.get(key), list)) for body in (a, b)
    ]
    return sizes[0] < sizes[1]


def goes_on_behind(a: Mapping[str, Any], b: Mapping[str, Any], path: str) -> bool:
    """Whether the messages behind the one that `path` points into are those of the older conversation, and more."""
    _, key, at, *_ = [*path.split("/"), "", ""]
    older, newer = a.get(key), b.get(key)
    if not isinstance(older, list) or not isinstance(newer, list) or not at.isdecimal():
        return False
    rest = older[int(at) + 1 :]
    return bool(rest) and newer[int(at) + 1 : len(older)] == rest


def _message(older: list[Any], newer: list[Any], at: int) -> str | None:
    """A whole message that moved."""
    rest = older[at + 1 :]
    if newer[at : at + len(rest)] != rest or not (rest or _is_answer(newer[at])):
        return None
    note, later = older[at], newer[at + len(rest) :]
    return _text(note) if any(_is_again(note, turn) for turn in later) else None


def _is_again(note: Any, turn: Any) -> bool:
    """Two notes of the operator may say different things; one of a user has to be known by its words."""
    roles = [item.get("role") if isinstance(item, dict) else None for item in (note, turn)]
    return (roles[0] == roles[1] and roles[0] in SYSTEM_ROLES) or _again(_text(note), _text(turn))


def _part(older: list[Any], newer: list[Any], at: int) -> str | None:
    """The beginning or the end of the newest message, which the next turn sends without it."""
    long, short = _text(older[at]), _text(newer[at])
    if at != len(older) - 1 or not short or len(long) <= len(short):
        return None
    if long.startswith(short):
        note = long[len(short) :]
    elif long.endswith(short):
        note = long[: len(long) - len(short)]
    else:
        return None
    last = _text(newer[-1])
    return note if _again(note.strip(), last.strip()) or _again(note.strip(), last[-len(note) :].strip()) else None


def _again(note: str, text: str) -> bool:
    return len(note) >= _LEAST and (note in text or text.startswith(note[:_ALIKE]))


def _text(turn: Any) -> str:
    content = turn.get("content") if isinstance(turn, dict) else None
    text = only_text(content)
    if text is None and isinstance(content, list):
        text = "\n".join(only_text([part]) or "" for part in content)
    return (text or "").strip()


def _answered(turns: list[Any]) -> int:
    """Behind the last answer: what follows is new."""
    return max((at + 1 for at, turn in enumerate(turns) if _is_answer(turn)), default=0)


def _is_answer(turn: Any) -> bool:
    return isinstance(turn, dict) and turn.get("role") == "assistant"
