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
_BLANK: Final = re.compile(r"(?:\s|\\[nrt]|[\u00ad\u200b-\u200d\u2060\ufeff])+")
_ESCAPE: Final = re.compile(r"\\{1,2}u([0-9a-fA-F]{4})")
_WORD: Final = re.compile(rb"\w{2,}")
_SAME_WORDS: Final = 0.9


def alike(a: bytes, b: bytes) -> int:
    """Bytes of `b`, the rest of a view from where two part, that are in `a` too but for their form; 0 for few."""
    if not _LEAST <= len(b) <= _LONGEST or len(a) > _LONGEST:
        return 0
    one, other = _formless(a), _formless(b)
    same = common_prefix(one, other)
    if same * 2 >= len(other):
        return round(len(b) * same / max(1, len(other)))
    words, others = set(_WORD.findall(a)), set(_WORD.findall(b))
    return len(b) if len(words & others) >= _SAME_WORDS * max(len(words), len(others), 1) else 0


def _formless(view: bytes) -> str:
    text = view.decode("utf-8", "replace")
    if "\\u" in text:
        text = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)
    text = _BLANK.sub("", text)
    return text if text.isascii() else unicodedata.normalize("NFC", text)
