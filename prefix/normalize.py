"""Level `normalize`: text that differs for no reason of the author's, brought to one form. Opt-in, and lossy.

* Known per-request nonces are stripped: lines that a client's transport puts first in the system text and that say
  nothing to a model (https://github.com/ggml-org/llama.cpp/pull/21793). Only there, never where somebody quotes one.
* System text gets LF line ends, no blanks at the ends of lines, and Unicode form NFC. No other text is touched.
* Results of one parallel tool call stand in the order of the calls (prefix.results).
* The properties of tools that are not strict stand in the order of their names (prefix.tools).
"""

import re
import unicodedata
from collections.abc import Collection
from itertools import groupby
from typing import Literal, NamedTuple, get_args

from prefix.body import Body
from prefix.place import Path, Places, Rewrite, literal, pointer
from prefix.results import result_order
from prefix.scan import Span
from prefix.system import SystemText, first_content, system_texts
from prefix.tools import Change

Nonce = Literal["anthropic-billing-header"]
NONCES: tuple[Nonce, ...] = get_args(Nonce)
_NONCE_LINES: dict[str, re.Pattern[str]] = {
    "anthropic-billing-header": re.compile(
        r"x-anthropic-billing-header:(?:[ \t]*[\w.-]+=[^;\n]*(?:;|(?=\n|\Z)))+(?:\n|\Z)", re.ASCII
    ),
}
"""Whole lines, blanks at their ends cut off already."""
_MAX_MARKS = 30
"""Combining marks in a row (Unicode's stream-safe format, UAX 15): sorting a longer run takes quadratic time."""
_LONG_RUN = re.compile(f"[^\x00-\x7f]{{{_MAX_MARKS + 1},}}")


class _Edit(NamedTuple):
    """A piece of system text, what becomes of it, and the kinds of what was changed."""

    piece: SystemText
    text: str
    kinds: list[str]


def normalize(body: Body, strip: Collection[str] = NONCES, *, keep_marked: bool = False) -> Rewrite:
    """What this level replaces in a parsed body, tools aside.

    strip: the nonces to remove. keep_marked: leave the order of arrays that carry `cache_control` marks alone.
    """
    places = Places(body)
    text = _system_text(body, places, strip)
    order = result_order(body, places, keep_marked=keep_marked)
    return Rewrite(text.replacements | order.replacements, text.changes + order.changes)


def clean(text: str) -> tuple[str, list[str]]:
    """System text in its one form, and the kinds of what was changed."""
    kinds: list[str] = []
    for kind, step in (("line_ends", _line_ends), ("trailing_blanks", _no_blanks), ("unicode_form", _composed)):
        new = step(text)
        if new != text:
            text = new
            kinds.append(kind)
    return text, kinds


def _line_ends(text: str) -> str:
    return text.replace("\r\n", "\n")


def _no_blanks(text: str) -> str:
    return "\n".join([line.rstrip(" \t\r") for line in text.split("\n")])


def _composed(text: str) -> str:
    if unicodedata.is_normalized("NFC", text):
        return text
    for run in _LONG_RUN.finditer(text):
        for marks, chars in groupby(run[0], key=lambda char: unicodedata.combining(char) > 0):
            if marks and len(list(chars)) > _MAX_MARKS:
                return text
    return unicodedata.normalize("NFC", text)


def _system_text(body: Body, places: Places, strip: Collection[str]) -> Rewrite:
    edits = [_Edit(piece, *clean(piece.text)) for piece in system_texts(body)]
    front = first_content(body)  # also when it holds an image only: what stands behind it does not become the first
    dropped, edits = _strip(edits, front, places, strip)
    replacements: dict[Span, bytes] = {}
    changes: list[Change] = []
    if dropped:
        content = dropped[0].piece.content
        items = places.items(places.find(content))
        replacements[Span(items[0].start, items[len(dropped)].start)] = b""
        changes.append(Change(pointer(content), "nonce_stripped"))
    for piece, text, kinds in edits:
        span = places.find(piece.path) if kinds else None
        if span is not None:
            replacements[span] = literal(text)
            changes += [Change(pointer(piece.path), kind) for kind in kinds]
    return Rewrite(replacements, tuple(changes))


def _strip(
    edits: list[_Edit], front: Path | None, places: Places, strip: Collection[str]
) -> tuple[list[_Edit], list[_Edit]]:
    """The leading edits whose parts are a nonce and nothing else, and the others with nonces cut off the front."""
    for at, (piece, text, kinds) in enumerate(edits):
        first = piece.leading and (piece.part or 0) == at and piece.content == front
        rest = _behind_nonces(text, strip) if first else text
        if rest == text:
            return edits[:at], edits[at:]
        if rest or not _is_bare_part(piece, places):
            return edits[:at], [_Edit(piece, rest, [*kinds, "nonce_stripped"]), *edits[at + 1 :]]
    return [], edits


def _behind_nonces(text: str, strip: Collection[str]) -> str:
    at = 0
    while (found := next((m for name in strip if (m := _NONCE_LINES[name].match(text, at))), None)) is not None:
        at = found.end()
    return text[at:]


def _is_bare_part(piece: SystemText, places: Places) -> bool:
    """Whether the part holds nothing but its text, and is not the last one of its array."""
    items = places.items(places.find(piece.content))
    if piece.part is None or piece.part + 1 >= len(items):
        return False
    return len(piece.path) == len(piece.content) + 1 or set(places.members(items[piece.part])) == {"type", "text"}
