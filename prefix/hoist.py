"""Level `hoist`: volatile spans moved out of the system text, behind everything that could be shared.

A clock in the system text ends the shared prefix there: every turn recomputes the rules and the whole history. Moved
into the newest message of the user it ends it there instead. What that costs is the tail: the client does not send
the restated values back, so the turn that held them last (and its answer) is computed again on the next one.

`report`, the default, changes nothing and says what moving would save. `rewrite` leaves a reference in place of each
span, `[clock: see latest user message]`, and restates the values at the start of the last message, which must be the
user's own: a reference to a message that is not the last would not be the same next turn. All or nothing: when one
span cannot be moved, or the text still has spans of the listed kinds afterwards, the body stays as it is.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from prefix.body import Body
from prefix.place import NO_REWRITE, Path, Places, Rewrite, literal, pointer
from prefix.scan import Span
from prefix.system import SYSTEM_ROLES, SystemText, system_texts, turns
from prefix.tools import Change
from prefix.volatile import KINDS, Kind, VolatileSpan, find_volatile

MOVABLE: tuple[Kind, ...] = tuple(kind for kind in KINDS if kind != "attribution")
"""Kinds that say something to a model. An attribution line does not: level `normalize` strips it."""
_LABELS: dict[Kind, str] = {"clock_second": "clock", "clock_minute": "clock", "uuid": "id", "hex_id": "id"}


class Hoist(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What may be moved. kinds: kinds of volatile spans, out of MOVABLE; none: `report` counts every one."""

    mode: Literal["report", "rewrite"] = "report"
    kinds: tuple[Kind, ...] = ()


class HoistReport(NamedTuple):
    """What moving the volatile spans of one body saves, in bytes of text, if they changed since the last turn.

    kinds: of the spans found, in their order. shared: system text and history behind the first span, which become
    shared. recomputed: the tail of the history that is computed again all the same.
    """

    kinds: tuple[Kind, ...]
    shared_bytes: int
    recomputed_bytes: int

    @property
    def saved_bytes(self) -> int:
        """Never negative: behind the first span nothing is shared without moving it."""
        return self.shared_bytes - self.recomputed_bytes


class _Target(NamedTuple):
    """The content of the last message, and the type its text parts have."""

    path: Path
    part_type: str


class _Found(NamedTuple):
    """One piece of leading system text that has volatile spans, in order and without overlap."""

    piece: SystemText
    spans: list[VolatileSpan]


def hoist(body: Body, options: Hoist) -> tuple[Rewrite, HoistReport | None]:
    """What this level replaces in a parsed body, and what that saves.

    (nothing, None) when there is nothing to move, or nowhere to move it.
    """
    target = _target(body)
    leading = [piece for piece in system_texts(body) if piece.leading] if target else []
    found = [_Found(piece, spans) for piece in leading if (spans := _volatile(piece.text, options.kinds))]
    if target is None or not found:
        return NO_REWRITE, None
    report = _report(body, leading, found)
    move = options.mode == "rewrite" and options.kinds
    return (_move(body, found, target, options.kinds) if move else NO_REWRITE), report


def _volatile(text: str, kinds: Collection[Kind]) -> list[VolatileSpan]:
    """The spans that are certain to move, of these kinds (none given: of every kind), in order."""
    return [span for span in find_volatile(text, kinds or MOVABLE) if span.certain]


def _target(body: Body) -> _Target | None:
    """Where values can be restated: the last message, if it is the user's own."""
    key, items = turns(body)
    if key == "input" and type(body.value(key)) is str:
        return _Target((key,), "input_text")
    if not items or not _is_users(items[-1]):
        return None
    return _Target((key, len(items) - 1, "content"), "input_text" if key == "input" else "text")


def _is_users(item: Any) -> bool:
    """Whether a turn is what the user said: not the results of tools in a user's message."""
    if type(item) is not dict or item.get("role") != "user":
        return False
    content = item.get("content")
    if type(content) is not list:
        return type(content) is str
    return bool(content) and not any(type(part) is dict and part.get("type") == "tool_result" for part in content)


def _report(body: Body, leading: Sequence[SystemText], found: Sequence[_Found]) -> HoistReport:
    first = found[0]
    behind = [piece.text for piece in leading[leading.index(first.piece) :]]
    behind[0] = behind[0][first.spans[0].end :]
    moved = [piece.text[span.start : span.end] for piece, spans in found for span in spans][1:]
    history = _history(body)
    last = next((place for place in reversed(range(len(history))) if _is_users(history[place])), len(history))
    return HoistReport(
        kinds=tuple(span.kind for _, spans in found for span in spans),
        shared_bytes=_size(behind) - _size(moved) + _size(history),
        recomputed_bytes=_size(history[last:]),
    )


def _history(body: Body) -> list[Any]:
    """What was said between the leading system text and the last message."""
    _, items = turns(body)
    said = (at for at, item in enumerate(items) if type(item) is not dict or item.get("role") not in SYSTEM_ROLES)
    return items[next(said, len(items)) : -1]


def _size(value: Any) -> int:
    """Bytes of all text in a value."""
    if type(value) is str:
        return len(value.encode())
    inner = value.values() if type(value) is dict else value if type(value) is list else ()
    return sum(map(_size, inner))


def _move(body: Body, found: Sequence[_Found], target: _Target, kinds: Collection[Kind]) -> Rewrite:
    places = Places(body)
    seen: Counter[str] = Counter()
    replacements: dict[Span, bytes] = {}
    changes: list[Change] = []
    restated = ""
    for piece, spans in found:
        text, values = _referenced(piece.text, spans, seen)
        place = places.find(piece.path)
        if place is None or _volatile(text, kinds):
            return NO_REWRITE
        restated += values
        replacements[place] = literal(text)
        changes += [Change(pointer(piece.path), f"hoisted_{span.kind}") for span in spans]
    content = places.find(target.path)
    if content is None:
        return NO_REWRITE
    replacements.update([_insertion(body, places, content, restated + "\n", target.part_type)])
    return Rewrite(replacements, (*changes, Change(pointer(target.path), "restated")))


def _referenced(text: str, spans: Sequence[VolatileSpan], seen: Counter[str]) -> tuple[str, str]:
    """The text with a reference in place of each span, and a line for each value. seen: spans by label so far."""
    parts: list[str] = []
    values: list[str] = []
    at = 0
    for span in spans:
        label = _LABELS.get(span.kind) or span.kind.replace("_", " ")
        seen[label] += 1
        name = label if seen[label] == 1 else f"{label} {seen[label]}"
        parts += (text[at : span.start], f"[{name}: see latest user message]")
        values.append(f"[{name}: {text[span.start : span.end]}]\n")
        at = span.end
    return "".join(parts) + text[at:], "".join(values)


def _insertion(body: Body, places: Places, content: Span, text: str, part_type: str) -> tuple[Span, bytes]:
    """What puts text at the start of a content: a string's first characters, or a new first part of an array."""
    if body.raw[content.start : content.start + 1] == b'"':
        return Span(content.start + 1, content.start + 1), literal(text)[1:-1]
    front = places.items(content)[0].start
    return Span(front, front), literal({"type": part_type, "text": text}) + b","
