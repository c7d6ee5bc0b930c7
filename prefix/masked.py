"""The form `mask` of redaction: x for letters, X for capitals, 0 for digits, one letter for all others of a length.

Lengths in bytes, white space and punctuation stay. Words of one length become equal, and so do two clocks: what a
prefix cache sees is not to be seen in it any more, only how large and of what shape prompts are.
"""

from typing import Final

from prefix.obscure import WIDE, Hashed, bytes_of

_MASK: Final = str.maketrans(
    dict.fromkeys("abcdefghijklmnopqrstuvwxyz", "x")
    | dict.fromkeys("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "X")
    | dict.fromkeys("0123456789", "0")
)


class Masked:
    """Form `mask`. key: hides labels."""

    def __init__(self, key: bytes) -> None:
        self._labels = Hashed(key)

    def text(self, text: str) -> str:
        """x for letters, 0 for digits, X for capitals."""
        return text.translate(_MASK) if text.isascii() else "".join(map(_one, text))

    def number(self, number: float, _: str = "", /) -> int | float:
        """Of one digit, a float stays one."""
        return 0.0 if isinstance(number, float) else 0

    def label(self, name: str) -> str:
        """A name, such as a customer's, that is the same only for the same one."""
        return self._labels.label(name)


def _one(letter: str) -> str:
    return (
        letter if letter.isspace() else letter.translate(_MASK) if letter <= "\x7f" else chr(WIDE[bytes_of(letter)])
    )
