"""A volatile span: a stretch of text that is likely to be another one in the next request."""

from typing import Literal, NamedTuple, get_args

Kind = Literal[
    "clock_second",
    "clock_minute",
    "date",
    "epoch",
    "uuid",
    "hex_id",
    "attribution",
    "cwd",
    "git_state",
    "hostname",
    "signed_url",
    "counter",
]
KINDS: tuple[Kind, ...] = get_args(Kind)


class VolatileSpan(NamedTuple):
    """Code points `start` to `end` (exclusive) of a text.

    certain: the words around it, or its own form, say that it moves. What is not certain looks the same and may be a
    fact that never changes (a founding date, an example, a version): worth a hint, never an error or a rewrite.
    """

    start: int
    end: int
    kind: Kind
    certain: bool
