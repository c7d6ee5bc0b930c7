"""What to show of two prompts where they part: the words or the items around the place, the difference marked.

Characters that would not be seen, or would do something to a terminal, are written as escapes.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from prefix import parameters
from prefix.causes import Cause, tool_names, value_text
from prefix.divergence import MISSING, Divergence, value_at

_NEAR: Final = 90
_LONGEST: Final = 160
_LINES: Final = 3
_ITEMS: Final = 5
_FORM: Final = ("whitespace", "unicode_form", "json_format")
_LISTS: Final = ("tool_order", "tool_set", "few_shot_order", "window_slid", "appended")


class Piece(NamedTuple):
    """A stretch of text; differs: the other prompt does not have it there."""

    text: str
    differs: bool = False


def excerpts(
    a: Mapping[str, Any], b: Mapping[str, Any], where: Divergence | None, cause: Cause
) -> tuple[list[Piece], list[Piece]]:
    """The pieces to show of two bodies that part. where, cause: of prefix.comparison."""
    return _excerpt(a, where, cause, cause.a), _excerpt(b, where, cause, cause.b)


def _excerpt(body: Mapping[str, Any], where: Divergence | None, cause: Cause, value: str | None) -> list[Piece]:
    if where is None or cause.kind in parameters.KINDS:
        return [Piece(_short("(not set)" if value is None else value), differs=value is not None)]
    found = value_at(body, where.path)
    if cause.kind in _LISTS and where.path.count("/") > 1:
        return _items(body, *where.path.split("/")[1:3])
    if where.reason == "string":
        return _text(found, where, cause, value or "")
    if where.reason == "key_order":
        return _keys(list(found), where)
    return [Piece(_short("(nothing)" if found is MISSING else value_text(found) or ""), differs=found is not MISSING)]


def _text(text: str, where: Divergence, cause: Cause, value: str) -> list[Piece]:
    """The difference and what stands around it."""
    at = where.char_offset if cause.offset is None else cause.offset
    at = at or 0
    end = at + len(value) if text.startswith(value, at) else at
    marked = text[at : min(end, at + _LONGEST)]
    shown = _spelled(marked) if cause.kind in _FORM else visible(marked)
    if end > at + _LONGEST:
        return [Piece(_before(text[:at])), Piece(shown + "…", differs=True)]
    return [Piece(_before(text[:at])), Piece(shown, differs=True), Piece(_behind(text[end:]))]


def _before(text: str) -> str:
    near = "\n".join(text[-_NEAR:].split("\n")[-_LINES:])
    return ("…" if text[: -len(near) or None].strip() else "") + visible(near)


def _behind(text: str) -> str:
    near = "\n".join(text[:_NEAR].split("\n")[:_LINES])
    return visible(near) + ("…" if text[len(near) :].strip() else "")


def _items(body: Mapping[str, Any], member: str, place: str) -> list[Piece]:
    """Tools by name, messages by role and first words, one a line."""
    items, at = body.get(member), int(place)
    if not isinstance(items, list):
        return [Piece("(nothing)")]
    names = tool_names(items) if member in ("tools", "functions") else [_message(item) for item in items]
    first = max(0, at - 1)
    shown = [Piece(_short(name, 60), first + n == at) for n, name in enumerate(names[first : at + _ITEMS])]
    if at >= len(names):
        shown.append(Piece("(the end)"))
    more = len(names) - at - _ITEMS
    lines = [Piece("…")] * (first > 0) + shown + [Piece(f"… {more} more")] * (more > 0)
    return [piece for line in lines for piece in (line, Piece("\n"))]


def _message(message: Any) -> str:
    role = message.get("role") if isinstance(message, dict) else None
    text = (value_text(message) or "").replace("\n", " ")
    return f"{role}: {text}" if isinstance(role, str) else text


def _keys(keys: Sequence[str], where: Divergence) -> list[Piece]:
    at = min(place for place, key in enumerate(keys) if key in (where.key_a, where.key_b))
    before = "".join(f"{key}, " for key in keys[:at])
    return [Piece(visible(before)), Piece(_short(", ".join(keys[at:])), differs=True)]


def _short(text: str, longest: int = _LONGEST) -> str:
    return visible(text) if len(text) <= longest else visible(text[:longest]) + "…"


def visible(text: str) -> str:
    """Control characters, lone surrogates and other invisible ones as escapes; line ends stay."""
    return "".join(char if char == "\n" or char.isprintable() else ascii(char)[1:-1] for char in text)


def _spelled(text: str) -> str:
    """Every blank and every character outside ASCII made readable: what differs is how they are written."""
    return "".join(
        char if char > " " and char.isascii() else "␣" if char == " " else ascii(char)[1:-1] for char in text
    )
