"""Where a value lies in a body, by keys and indices; and a rewrite, which is new bytes for such places.

Values come from the parsed body, bytes from here. Arrays and objects on the way are split once, so that looking up
every message of a body costs what reading it once costs. A place that passes through an object with duplicate keys
has no bytes: two readers may see two values there, so it is never rewritten.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from prefix.body import Body
from prefix.scan import Span, elements, members
from prefix.tools import Change

Path = tuple[str | int, ...]
"""Keys and indices from the body to a value, as in ("messages", 0, "content")."""


class Rewrite(NamedTuple):
    """What one level changes in one body: new bytes by span, and the list of changes. Both or neither are empty."""

    replacements: dict[Span, bytes]
    changes: tuple[Change, ...]


NO_REWRITE = Rewrite({}, ())


class Places:
    """The bytes of a body's values. Lives as long as one rewrite of one body."""

    __slots__ = ("_body", "_items", "_members")

    def __init__(self, body: Body) -> None:
        self._body = body
        self._items: dict[Span, list[Span]] = {}
        self._members: dict[Span, dict[str, Span]] = {}

    def find(self, path: Path) -> Span | None:
        """Where the value at `path` lies; None when it is not there or duplicate keys make it ambiguous."""
        span = self._body.spans.get(str(path[0]))
        for step in path[1:]:
            if span is None:
                return None
            if isinstance(step, str):
                span = self.members(span).get(step)
            else:
                items = self.items(span)
                span = items[step] if step < len(items) else None
        return span

    def items(self, span: Span | None) -> list[Span]:
        """The elements of the array at `span`; none when there is no array."""
        if span is None:
            return []
        found = self._items.get(span)
        if found is None:
            raw = self._body.raw
            found = self._items[span] = elements(raw, span) if raw[span.start : span.start + 1] == b"[" else []
        return found

    def members(self, span: Span) -> dict[str, Span]:
        """The members of the object at `span`; none when it is no object, or one with duplicate keys."""
        found = self._members.get(span)
        if found is None:
            raw = self._body.raw
            listed = members(raw, span.start) if raw[span.start : span.start + 1] == b"{" else []
            found = {member.name: member.value for member in listed}
            if len(found) != len(listed):
                found = {}
            self._members[span] = found
        return found


def pointer(path: Sequence[str | int]) -> str:
    """The JSON pointer (RFC 6901) of a path."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def literal(value: Any) -> bytes:
    """A value as JSON, as short as it goes."""
    return msgspec.json.encode(value)
