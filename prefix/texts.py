"""In what two texts differ at the place where they part: white space, Unicode form, JSON spelling, a clock, words.

Only the first difference is looked at, and no more than REACH code points around it. Form is named when the two texts
agree again once it is taken out; volatile spans (prefix.volatile) by their look, also those that are not certain to
move: here the two values are known to differ.
"""

import itertools
import json
import re
import unicodedata
from collections import Counter
from typing import Any, Final, Literal, NamedTuple

from prefix.realign import common_prefix
from prefix.volatile import Kind as VolatileKind
from prefix.volatile import VolatileSpan, find_volatile

Kind = Literal[
    "key_order", "json_format", "whitespace", "unicode_form", "clock", "date", "request_id", "attribution",
    "environment", "hostname", "signed_url", "counter", "text_order", "text",
]  # fmt: skip

REACH: Final = 4096
_ENOUGH: Final = 32
_GRAM: Final = 8
_OPENINGS: Final = 16
_LONGEST_WORD: Final = 64
_CLUSTER: Final = 4
"""A combining mark belongs to the letter before it."""
VOLATILE: Final[dict[VolatileKind, Kind]] = {
    "clock_second": "clock",
    "clock_minute": "clock",
    "epoch": "clock",
    "date": "date",
    "uuid": "request_id",
    "hex_id": "request_id",
    "attribution": "attribution",
    "cwd": "environment",
    "git_state": "environment",
    "hostname": "hostname",
    "signed_url": "signed_url",
    "counter": "counter",
}
"""What each kind of volatile span is as a cause."""
_INVISIBLE: Final = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"), "") | {0xA0: " ", 0x202F: " "}
_LETTERS = re.compile(r"\w*")
_OPENING, _DECODER = re.compile(r"[{[]"), json.JSONDecoder()
_SPACE, _WORD, _WORD_START = re.compile(r"\s*"), re.compile(r"[^ \t\r\n]*"), re.compile(r"[^ \t\r\n]*\Z")


class TextChange(NamedTuple):
    """In what two texts differ. start: code points before it, in both. a, b: what stands there instead of each other;
    for `key_order` the first two keys that differ."""

    kind: Kind
    start: int
    a: str
    b: str


def text_change(a: str, b: str) -> TextChange:
    """In what two texts, which differ, do so first."""
    at = common_prefix(a, b)
    return _json(a, b, at) or _form(a, b, at) or _volatile(a, b, at) or _lines(a, b, at) or _words(a, b, at)


def _json(a: str, b: str, at: int) -> TextChange | None:
    """Two spellings of one document: a whole text, such as the arguments of a tool call, or a part of one."""
    openings = _OPENING.finditer(a, max(0, at - REACH), at)
    for start in (found.start() for found in itertools.islice(openings, _OPENINGS)):
        one, other = _document(a, start), _document(b, start)
        if one is None or other is None or at >= one.end or one.value != other.value:
            continue
        for key_a, key_b in zip(_keys(a[start : one.end]), _keys(b[start : other.end]), strict=False):
            if key_a != key_b:
                return TextChange("key_order", _key_start(a, at, key_a), key_a, key_b)
        return TextChange("json_format", at, *_apart(a[: one.end], b[: other.end], at))
    return None


class _Document(NamedTuple):
    value: Any
    end: int


def _document(text: str, start: int) -> _Document | None:
    try:
        return _Document(*_DECODER.raw_decode(text, start))
    except (ValueError, RecursionError):
        return None


def _key_start(text: str, at: int, key: str) -> int:
    start = text.rfind('"', 0, at) + 1
    return start if start and key.startswith(text[start:at]) else at


def _keys(document: str) -> list[str]:
    found: list[str] = []
    json.loads(document, object_pairs_hook=lambda pairs: found.extend(key for key, _ in pairs))
    return found


def _form(a: str, b: str, at: int) -> TextChange | None:
    """White space, or Unicode form: the texts agree again without it."""
    start = max(0, at - _CLUSTER)
    one, other = a[start : at + REACH], b[start : at + REACH]
    if _agree(_composed(one), _composed(other)):
        start = _word_start(a, at)
        return TextChange("unicode_form", start, _run(_WORD, a, start), _run(_WORD, b, start))
    if _agree(_SPACE.sub("", one), _SPACE.sub("", other)):
        return TextChange("whitespace", at, _run(_SPACE, a, at), _run(_SPACE, b, at))
    return None


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text.translate(_INVISIBLE))


def _agree(a: str, b: str) -> bool:
    return a == b or common_prefix(a, b) >= _ENOUGH


def _volatile(a: str, b: str, at: int) -> TextChange | None:
    one, other = _span(a, at), _span(b, at)
    found = one or other
    if found is None:
        return None
    start = max(found.start, a.rfind("\n", 0, at) + 1)
    if start > found.start:  # in a block of lines the lines before are the same
        return TextChange(VOLATILE[found.kind], start, *_apart(a, b, start))
    values = [
        text[start : span.end] if span and span.start == start else text[start:at] + _run(_WORD, text, at)
        for text, span in ((a, one), (b, other))
    ]
    return TextChange(VOLATILE[found.kind], start, *values)


def _span(text: str, at: int) -> VolatileSpan | None:
    """The volatile span of a text that reaches to `at`, in the places of the whole text."""
    base = max(0, at - REACH)
    for span in find_volatile(text[base : at + REACH]):
        if span.start <= at - base <= span.end:
            return span._replace(start=base + span.start, end=base + span.end)
    return None


def _lines(a: str, b: str, at: int) -> TextChange | None:
    """The same lines in another order: examples, documents."""
    start = a.rfind("\n", 0, at) + 1
    one, other = a[start:].split("\n"), b[start:].split("\n")
    if len(one) == 1 or Counter(one) != Counter(other):
        return None
    return TextChange("text_order", start, one[0], other[0])


def _words(a: str, b: str, at: int) -> TextChange:
    start = _word_start(a, at)
    one, other = _apart(a, b, at)
    head, rest = a[start:at], _run(_LETTERS, a, at + len(one))
    return TextChange("text", start, head + one + rest, head + other + rest)


def _run(pattern: re.Pattern[str], text: str, at: int) -> str:
    found = pattern.match(text, at)
    return found[0] if found else ""


def _word_start(text: str, at: int) -> int:
    base = max(0, at - _LONGEST_WORD)
    found = _WORD_START.search(text[base:at])
    return base + found.start() if found else at


def _apart(a: str, b: str, start: int) -> tuple[str, str]:
    """From `start` to the nearest place where the texts agree again, or else to where their ends begin to agree."""
    places = {a[at : at + _GRAM]: at for at in range(min(start + REACH, len(a) - _GRAM), start - 1, -1)}
    for at in range(start, min(start + REACH, len(b) - _GRAM + 1)):
        found = places.get(b[at : at + _GRAM])
        if found is not None:
            return a[start:found], b[start:at]
    one, other = a[start:], b[start:]
    same = common_prefix(one[::-1], other[::-1])
    return one[: len(one) - same], other[: len(other) - same]
