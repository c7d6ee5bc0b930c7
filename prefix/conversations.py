"""What happened between two conversations: one went on, lost its oldest messages, was edited, or is another one.

Both are given as their messages from the first different one on. Messages are compared whole, as compact JSON; but a
text counts the same as the list of it, which clients send where they set a `cache_control` mark.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, Literal

from prefix.divergence import compact_json
from prefix.system import SYSTEM_ROLES

Kind = Literal[
    "few_shot_order", "window_slid", "system_text", "new_message", "history_edited", "other_conversation"
]  # fmt: skip

_SLIDES: Final = 8
"""Places looked at for the beginning of a history that slid: without a bound, equal messages would cost a square."""


def other_order(a: Sequence[Any], b: Sequence[Any]) -> Kind | None:
    """`few_shot_order` for the same messages in another order, whatever is asked last; `window_slid` when one is the
    other without its first messages and with new ones behind; else None."""
    one, other = ([_plain(turn) for turn in turns] for turns in (a, b))
    if one[:1] == other[:1]:
        return None
    if len(one) > 1 and (Counter(one) == Counter(other) or Counter(one[:-1]) == Counter(other[:-1])):
        return "few_shot_order"
    return "window_slid" if _slid(one, other) or _slid(other, one) else None


def _slid(older: Sequence[bytes], newer: Sequence[bytes]) -> bool:
    starts = [place for place in range(1, len(older) - 1) if older[place] == newer[0]] if newer else []
    return any(older[place:] == newer[: len(older) - place] for place in starts[:_SLIDES])


def is_newest(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """The first different message is the last one of both: nothing that could be shared stands behind it."""
    return len(a) == len(b) == 1


def kind_of_turn(a: Sequence[Any], b: Sequence[Any]) -> Kind:
    """What the first different message is to its conversation. An edited one is followed by messages that agree."""
    if any(_role(turns) in SYSTEM_ROLES for turns in (a, b)):
        return "system_text"
    if is_newest(a, b):
        return "new_message"
    again = any(_plain(x) == _plain(y) for x, y in zip(a[1:], b[1:], strict=False))
    return "history_edited" if again else "other_conversation"


def only_text(content: Any) -> str | None:
    """The text of a content that is a string, or one part of text; None of any other."""
    if isinstance(content, list) and len(content) == 1:
        content = content[0]
        content = content.get("text") if isinstance(content, dict) else content
    return content if isinstance(content, str) else None


def _plain(turn: Any) -> bytes:
    text = only_text(turn.get("content")) if isinstance(turn, dict) else None
    return compact_json(turn if text is None else {**turn, "content": text})


def _role(turns: Sequence[Any]) -> Any:
    return turns[0].get("role") if turns and isinstance(turns[0], dict) else None
