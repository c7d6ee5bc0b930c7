"""Text that says nothing any more, and still shows what a prefix cache sees: the form `hash` of redaction.

One idea: made-up letters in place of every word, by a keyed hash (BLAKE2b, RFC 7693) of the word and of the two
before it in its line or quotation. So two texts stay equal up to the word in which they part and agree again two
words behind it, lines keep their identity wherever they stand, and counting words (as one breaks a cipher of single
words) counts triples. Lengths in bytes, case, white space and punctuation stay.

What moves (prefix.volatile) keeps its look, so that a clock is still found to be one: its digits are exchanged for
others that could stand there, its label is kept when it is one of LABELS. Made-up words have no a to f and no x, and
longer numbers begin with 6 to 9: nothing becomes a date, an id or a clock by chance.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import Final

from prefix.kept_words import CALENDAR, LABELS
from prefix.volatile import Kind, VolatileSpan, find_volatile

_KEPT: Final = frozenset(("true", "false", "null"))
_LABEL_REACH: Final = 40
_TOKEN: Final = re.compile(
    r"[A-Za-z0-9+/=_-]{256,}|[A-Za-z]+|[0-9]+|[^\x00-\x7f\s]|\\(?:u[0-9a-fA-F]{4}|[nrtbf\"\\/])"
)
_WORD: Final = re.compile(r"[^\W\d_]+")
_NUMBER: Final = re.compile("[0-9]+")
_LINE: Final = re.compile(r"[^\n]+|\n")
_MOVING: Final = frozenset(("clock_second", "clock_minute", "date", "counter"))
_PLAIN: Final = frozenset(("cwd", "git_state", "attribution"))
_PARAMETER: Final = re.compile(r"([^&=]+=?)([^&]*)")
_CLASSES: Final = ((0, 1), (1, 13), (13, 24), (24, 29), (29, 32), (32, 60), (60, 100))
"""Two digits stay a month, an hour, a day, a minute if they could be one."""
_SPOKEN: Final = 128
"""Tokens after which others may go on."""
CACHED_BYTES: Final = 8 << 20


def _table(letters: str) -> bytes:
    return bytes(ord(letters[value % len(letters)]) for value in range(256))


_LETTERS, _DIGITS, _HIGH = _table("ghijklmnopqrstuvwyz"), _table("0123456789"), _table("6789")
_BASE64 = _table("ghijklmnopqrstuvwyzGHIJKLMNOPQRSTUVWYZ6789")
_OF_IDS: Final = (("0123456789", "2456789"), ("abcdef", "bcdf"), ("ghijklmnopqrstuvwxyz", "ghjkmnpqrstvwxz"))
_ID_CLASS: Final = {one: _table(to) for among, to in _OF_IDS for one in among} | {
    one.upper(): _table(to.upper()) for among, to in _OF_IDS[1:] for one in among
}
"""Of one class of an id: hexadecimal stays so, and no letter that ULIDs or names of pods do not have comes in."""


def _nothing() -> None:
    """Nobody else waits."""


class Hashed:
    """Form `hash`. key: secret of one installation. breathe: called now and then, for others to run."""

    def __init__(self, key: bytes, breathe: Callable[[], None] = _nothing) -> None:
        self._key = blake2b(key, digest_size=32).digest()
        self._breathe = breathe
        self._ones, self._pairs = self._permuted(((0, 1), (1, 10))), self._permuted(_CLASSES)
        self._lines: dict[str, str] = {}
        self._room = CACHED_BYTES

    def text(self, text: str) -> str:
        """The text without its words."""
        return "".join(map(self._line, _LINE.findall(text)))

    def number(self, number: float, before: str = "", /) -> int | float:
        """Another number with as many digits. before: what it follows, where that counts."""
        spelled = repr(number)
        digits = _NUMBER.sub(lambda found: self._digits(found[0], before), spelled.partition("e")[0])
        return float(digits) if isinstance(number, float) else int(digits)

    def label(self, name: str) -> str:
        """A name, such as a customer's, that is the same only for the same one."""
        return self._digest("label", name, 8).hex()

    def _line(self, line: str) -> str:
        known = self._lines.get(line)
        if known is None:
            self._breathe()
            known = "".join(self._parts(line))
            self._room -= len(line)
            if self._room < 0:
                self._lines.clear()
                self._room = CACHED_BYTES - len(line)
            self._lines[line] = known
        return known

    def _parts(self, line: str) -> Iterator[str]:
        spans = find_volatile(line)
        tokens = _Tokens(self, line)
        at = 0
        for span in spans:
            yield from tokens.between(at, span.start, span)
            yield self._moving(tokens, span, line[span.start : span.end])
            at = span.end
        yield from tokens.between(at, len(line))

    def _moving(self, tokens: "_Tokens", span: VolatileSpan, value: str) -> str:
        if span.kind in _PLAIN:
            return "".join(tokens.between(span.start, span.end))
        tokens.passed(value)
        return self._value(span.kind, value)

    def _value(self, kind: Kind, value: str) -> str:
        if kind in _MOVING:
            return _NUMBER.sub(self._pair_by_pair, _WORD.sub(self._calendar_word, value))
        if kind == "epoch":
            return value[:3] + _NUMBER.sub(lambda found: self._any_digits(found[0], value), value[3:])
        if kind == "signed_url":
            return _PARAMETER.sub(lambda found: found[1] + self._id(found[2]), value)
        return self._id(value)

    def _calendar_word(self, found: re.Match[str]) -> str:
        word = found[0]
        if word.lower() in CALENDAR or word.lower() in LABELS or (word[0] > "\x7f" and CALENDAR.issuperset(word)):
            return word
        return _TOKEN.sub(lambda part: self._coded(part[0], ""), word)

    def _id(self, value: str) -> str:
        start = 2 if value.startswith("01") else 0
        digest = self._digest("id", value, len(value))
        changed = map(_of_id, value, digest)
        return value[:start] + "".join(changed)[start:]

    def _pair_by_pair(self, found: re.Match[str]) -> str:
        """A year stays one, two digits stay of their class; what is left over is a fraction or a count."""
        value = found[0]
        if len(value) == 1:
            return str(self._ones[int(value)])
        if value[:2] in ("19", "20") and len(value) in (4, 8, 12, 14):
            return value[:2] + self._by_twos(value[2:])
        return self._by_twos(value) if len(value) in (2, 6) else self._any_digits(value, "fraction")

    def _by_twos(self, value: str) -> str:
        return "".join(f"{self._pairs[int(value[at : at + 2])]:02}" for at in range(0, len(value), 2))

    def _permuted(self, classes: Iterable[tuple[int, int]]) -> list[int]:
        """A permutation of the numbers from 0 that leaves each in its class."""

        def order(number: int) -> bytes:
            return self._digest("pair", str(number), 8)

        return [number for low, high in classes for number in sorted(range(low, high), key=order)]

    def _digits(self, value: str, before: str) -> str:
        digest = self._digest(before, value, len(value))
        digits = digest.translate(_DIGITS)
        return (digits if len(value) == 1 else digest[:1].translate(_HIGH) + digits[1:]).decode()

    def _any_digits(self, value: str, before: str) -> str:
        return self._digest(before, value, len(value)).translate(_DIGITS).decode()

    def _coded(self, token: str, before: str) -> str:
        first = token[0]
        if "0" <= first <= "9" and token.isdigit():
            return self._digits(token, before)
        if first == "\\":
            return token if len(token) == 2 else "\\u4e" + self._digest(before, token, 1).hex()
        if len(token) > 255:
            return self._digest(before, token, len(token)).translate(_BASE64).decode()
        if first > "\x7f":
            return _wide(token, self._digest(before, token, 2))
        made = self._digest(before, token, len(token)).translate(_LETTERS).decode()
        return made if token.islower() else _cased(made, token)

    def _digest(self, before: str, token: str, size: int) -> bytes:
        data = f"{before}\0{token}".encode("utf-8", "surrogatepass")
        if size <= 64:
            return blake2b(data, key=self._key, digest_size=size or 1).digest()
        pieces = (blake2b(b"%d\0%b" % (at, data), key=self._key).digest() for at in range(0, size, 64))
        return b"".join(pieces)[:size]


class _Tokens:
    """The words of one line, each with the two before it."""

    def __init__(self, form: Hashed, line: str) -> None:
        self._form = form
        self._line = line
        self._before = ("", "")
        self._spoken = 0

    def passed(self, token: str) -> None:
        """The next word has this one before it."""
        self._before = (self._before[1], token)

    def between(self, start: int, end: int, value: VolatileSpan | None = None) -> Iterator[str]:
        """The coded line from start to end. value: what moves right behind it, with its label in front."""
        labels = end - _LABEL_REACH if value is not None else end
        at = start
        for found in _TOKEN.finditer(self._line, start, end):
            token, gap = found[0], self._line[at : found.start()]
            if '"' in gap:  # a text in JSON is the same wherever it stands
                self._before = ("", "")
            yield gap
            is_kept = token in _KEPT or (found.start() >= labels and token.lower() in LABELS)
            yield token if is_kept else self._form._coded(token, "\0".join(self._before))
            self.passed(token)
            at = found.end()
            self._spoken += 1
            if not self._spoken % _SPOKEN:
                self._form._breathe()
        yield self._line[at:end]


WIDE: Final = {2: 0x430, 3: 0x4E00, 4: 0x20000}
"""The first of many letters by their bytes in UTF-8."""


def bytes_of(one: str) -> int:
    """Bytes of a letter outside ASCII in UTF-8."""
    return 2 if one < "\u0800" else 3 if one <= "\uffff" else 4


def _wide(one: str, by: bytes) -> str:
    """Another letter with as many bytes in UTF-8."""
    size = bytes_of(one)
    return chr(WIDE[size] + int.from_bytes(by, "big") % (32 if size == 2 else 4096))


def _of_id(one: str, by: int) -> str:
    if one > "\x7f":
        return _wide(one, bytes((by,)))
    return chr(_ID_CLASS[one][by]) if one in _ID_CLASS else one


def _cased(made: str, token: str) -> str:
    if token.isupper():
        return made.upper()
    if token.istitle():
        return made.capitalize()
    return "".join(new.upper() if old.isupper() else new for new, old in zip(made, token, strict=True))
