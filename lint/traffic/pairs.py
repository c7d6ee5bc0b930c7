"""What two requests alone say of each other: which member parted them, and what a difference between them is.

No history and no counting (lint.traffic.engine); the same two requests always say the same.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final, NamedTuple

from lint.traffic.inserts import goes_on_behind, grew
from lint.traffic.losses import WEAK
from lint.traffic.naming import REACH
from lint.traffic.pictures import same_picture
from lint.traffic.scope import MEMBERS as SCOPE
from lint.traffic.scope import schema_in_prompt
from prefix.causes import Cause, value_text
from prefix.divergence import first_divergence, value_at
from prefix.parameters import parameter_changes
from prefix.realign import Run, common_prefix

_SHORT: Final = 2048
_LEAST_END: Final = 24


class Parted(NamedTuple):
    """What changed between two turns of one conversation beside its text; named as prefix.causes.Cause."""

    kind: str
    path: str
    a: str | None
    b: str | None
    offset: int | None = None


def session_change(a: Mapping[str, Any], b: Mapping[str, Any]) -> Parted | None:
    """Of a conversation that goes on: another model, adapter or format."""
    if all(a.get(name) == b.get(name) for name in (*SCOPE, "response_format")):
        return None
    where = first_divergence(a, b)
    if where is None or where.reason != "append" or where.path.count("/") != 2:
        return None
    for change in parameter_changes(a, b):
        return Parted(change.kind, f"/{change.name}", change.a, change.b)
    formats = [value_text(body["response_format"]) if body.get("response_format") else None for body in (a, b)]
    if formats[0] == formats[1] or not schema_in_prompt(b):
        return None
    return Parted("response_format", "/response_format", formats[0], formats[1])


def kind_of(cause: Cause, runs: list[Run], a: Mapping[str, Any], b: Mapping[str, Any]) -> str:
    """The cause's kind, closer where the two prompts are needed for that."""
    kind: str = cause.kind
    if kind == "history_edited" and not grew(a, b):
        kind = "other_conversation"
    if kind in WEAK and _crossing(runs):
        return "text_order"
    if cause.kind == "media":
        values = value_at(a, cause.path), value_at(b, cause.path)
        same = same_picture(*values) if all(isinstance(value, str) for value in values) else None
        if same == "pixels" or (same == "size" and goes_on_behind(a, b, cause.path)):
            return "reencoded_image"
    return kind


def is_batch(body: Mapping[str, Any]) -> bool:
    """Texts to embed: each is a prompt of its own, and no conversation."""
    texts = body.get("input")
    return isinstance(texts, list) and bool(texts) and all(isinstance(text, str) for text in texts)


def in_newest(body: Mapping[str, Any], path: str) -> bool:
    """A place in the newest message: how it is spelled is its author's."""
    _, key, at, *_ = [*path.split("/"), "", ""]
    turns = body.get(key) if key in ("messages", "input") else None
    return isinstance(turns, list) and len(turns) > 1 and at == str(len(turns) - 1)


def around(body: Mapping[str, Any], cause: Cause | Parted) -> tuple[str, str]:
    """The text before the place of a cause, and from there on."""
    text = value_at(body, cause.path) if cause.offset is not None else None
    if not isinstance(text, str) or cause.offset is None:
        return "", ""
    at = cause.offset
    return text[max(0, at - REACH) : at], text[at : at + REACH]


def same_end(a: bytes, b: bytes, start: int) -> int:
    """What two short prompts have in common at their ends: too little text for runs, but a small log is one too."""
    if max(len(a), len(b)) > _SHORT:
        return 0
    end = common_prefix(a[start:][::-1], b[start:][::-1])
    return end if end >= _LEAST_END else 0


def _crossing(runs: list[Run]) -> bool:
    """The same pieces in another order."""
    return any(later.a < earlier.a for earlier, later in pairwise(runs))
