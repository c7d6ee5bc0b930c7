"""How much of two texts is the same but for its form: line ends, blanks, Unicode, the spelling or order of JSON.

Runs of equal bytes (prefix.realign) miss what differs in every line, though one stroke in the code that writes it
would make all of it equal. So where few bytes come again, the two are compared once more without their form; and
where they have nearly all words in common, order is all that differs. Asked of a view, where a line end is `\\n`.
"""

import re
import unicodedata
from typing import Final

from prefix.realign import common_prefix

FORMS: Final = frozenset(("whitespace", "unicode_form", "json_format", "key_order"))
"""Causes of which that may be said."""
_LEAST: Final = 128
"""Bytes."""
_LONGEST: Final = 1 << 18
_BLANKS: Final = (b"\\n", b"\\r", b"\\t")
_INVISIBLE: Final = re.compile("[\u00a0\u00ad\u200b-\u200d\u202f\u2060\ufeff]+")
_QUOTE: Final = b'"'
_MEMBERS: Final = 8
"""Quotes in a rest with JSON in it."""
_ESCAPE: Final = re.compile(r"\\{1,2}u([0-9a-fA-F]{4})")
_WORD_BYTES: Final = bytes(byte if re.match(rb"\w", bytes([byte])) else 32 for byte in range(256))
_LETTERS: Final = frozenset(bytes([byte]) for byte in _WORD_BYTES)
_BEGINNING: Final = 64
"""Bytes."""
_SHRINKS: Final = 16
"""A view without its form is no shorter than this part of it, and not by half: escapes are seven bytes at most."""
_CUT_OFF: Final = 8
"""Code points at the end of a beginning that may be halves."""
_SAME_WORDS: Final = 0.9


def alike(a: bytes, b: bytes, start: int = 0) -> int:
    """Bytes of view `b` from `start` on, where two part, that are in `a` too but for their form; 0 for few."""
    while start and a[start - 1 : start] == b"\\":
        start -= 1
    a, b = a[start:], b[start:]
    if not _LEAST <= len(b) <= _LONGEST or len(a) > _LONGEST:
        return 0
    if not _part_at_once(a, b):
        one, other = _formless(a), _formless(b)
        same = common_prefix(one, other)
        if same * 2 >= len(other):
            return round(len(b) * same / max(1, len(other)))
    if min(a.count(_QUOTE), b.count(_QUOTE)) < _MEMBERS:
        return 0
    words, others = _words(a), _words(b)
    return len(b) if len(words & others) >= _SAME_WORDS * max(len(words), len(others), 1) else 0


def _part_at_once(a: bytes, b: bytes) -> bool:
    """The beginnings differ in more than form, so early that not half of `b` can be the same."""
    if len(b) < _BEGINNING * _SHRINKS:
        return False
    one, other = _formless(a[:_BEGINNING]), _formless(b[:_BEGINNING])
    return common_prefix(one, other) < min(len(one), len(other)) - _CUT_OFF


def _words(view: bytes) -> set[bytes]:
    """Words of two letters and more."""
    return set(view.translate(_WORD_BYTES).split()) - _LETTERS


def _formless(view: bytes) -> str:
    for blank in _BLANKS:
        view = view.replace(blank, b"")
    text = view.translate(None, b" \t").decode("utf-8", "replace")
    if "\\u" in text:
        text = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)
    return text if text.isascii() else unicodedata.normalize("NFC", _INVISIBLE.sub("", text))
