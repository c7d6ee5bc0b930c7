"""What requests lost, cause by cause: counted while the log goes by, one loss per cause however often it strikes."""

import re
from dataclasses import dataclass
from typing import Final

from lint.costing import Cost
from lint.rule import Related
from lint.traffic.context import NO_CONTEXT, Context

_INDEX: Final = re.compile(r"/\d+")
_NEAR: Final = 64
_MOST: Final = 4096
_TEMPLATES: Final = 65_536
_POINTERS: Final = 16
_LOOKED_AT: Final = 64
_REST: Final = -1
"""All templates behind the first 65,536: counted as one."""
WEAK: Final = frozenset(("text", "system_text", "new_message", "other_conversation", "token_ids"))
"""Causes that only say whose words differ: at the place of a cause with a name they are its doing."""
_FORMS: Final = frozenset(("key_order", "json_format"))
_TOOLS: Final = ("/tools", "/functions")


MUCH: Final = 0.10
"""A cause that costs this share of a template's input has the rule's severity."""
SOME: Final = 0.02
"""With this share it is one step less severe, with a smaller one it is a hint."""


@dataclass(slots=True)
class Loss:
    """One cause. request, row, pointer, offset, values: of the first time, and context: what is constant around them,
    of an early time that lost the most, best_bytes. occurrences: how many requests. recoverable_bytes: of all.
    requests, total_bytes: of the whole template. pointers: where it struck, the first few places. around: the text
    before the place and from there on, the first time. cost: when it was replayed. made_at: the source that makes
    it, when that was given too."""

    kind: str
    template: int
    pointer: str
    offset: int | None
    values: tuple[str | None, str | None]
    request: int
    row: int
    context: Context = NO_CONTEXT
    best_bytes: int = 0
    pointers: tuple[str, ...] = ()
    occurrences: int = 0
    recoverable_bytes: int = 0
    requests: int = 0
    total_bytes: int = 0
    around: tuple[str, str] = ("", "")
    cost: Cost | None = None
    made_at: Related | None = None

    @property
    def share(self) -> float:
        """Of all the bytes its template sent: how many would have been cached without it."""
        return self.recoverable_bytes / max(1, self.total_bytes)

    @property
    def frequency(self) -> float:
        """Of the requests of its template: how many show it."""
        return self.occurrences / max(1, self.requests)


class Losses:
    """The losses of a log so far; more than 4,096 different ones are counted under the first of their kind."""

    def __init__(self) -> None:
        self._losses: dict[tuple[int, str, str], Loss] = {}
        self._sent: dict[int, tuple[int, int]] = {}

    def sent(self, template: int, size: int) -> None:
        """Count a request, of `size` bytes."""
        if template not in self._sent and len(self._sent) >= _TEMPLATES:
            template = _REST
        requests, total = self._sent.get(template, (0, 0))
        self._sent[template] = requests + 1, total + size

    def add(self, loss: Loss, recoverable_bytes: int) -> Loss | None:
        """Count one occurrence. What is kept of the cause, when this time should give it its context: the two texts
        agree better than before."""
        key = (loss.template, loss.kind, _place(loss))
        if key not in self._losses and len(self._losses) >= _MOST:
            key = next((known for known in self._losses if known[1] == loss.kind), key)
        known = self._losses.setdefault(key, loss)
        if loss.pointer not in known.pointers and len(known.pointers) < _POINTERS:
            known.pointers += (loss.pointer,)
        known.occurrences += 1
        known.recoverable_bytes += recoverable_bytes
        if recoverable_bytes <= known.best_bytes or known.occurrences > _LOOKED_AT:
            return None
        known.best_bytes = recoverable_bytes
        return known

    def result(self) -> tuple[Loss, ...]:
        """All of them, the most costly first, each cause once."""
        for loss in self._losses.values():
            loss.requests, loss.total_bytes = self._sent.get(loss.template) or self._sent[_REST]
        kept: list[Loss] = []
        for loss in sorted(self._losses.values(), key=_strength):
            owner = next((other for other in kept if _explains(other, loss)), None)
            if owner is None:
                kept.append(loss)
            else:
                owner.occurrences += loss.occurrences
                owner.recoverable_bytes += loss.recoverable_bytes
                owner.pointers = tuple(dict.fromkeys((*owner.pointers, *loss.pointers)))[:_POINTERS]
        return tuple(sorted(kept, key=lambda loss: (-loss.recoverable_bytes, loss.request, loss.kind)))


def _place(loss: Loss) -> str:
    """The pointer without indices: a tool or a message is found at another one in each request. All that is wrong
    with the form of tools is one cause: one line of code writes them."""
    if loss.kind in _FORMS and loss.pointer.startswith(_TOOLS):
        return loss.pointer.split("/")[1]
    return _INDEX.sub("/*", loss.pointer)


def _strength(loss: Loss) -> tuple[bool, bool, int]:
    return loss.kind in WEAK, loss.kind == "json_format", -loss.recoverable_bytes


def _explains(strong: Loss, weak: Loss) -> bool:
    if strong.template != weak.template or _place(strong) != _place(weak):
        return False
    if strong.kind in _FORMS and weak.kind in _FORMS:
        return True
    near = abs((strong.offset or 0) - (weak.offset or 0)) <= _NEAR
    return weak.kind in WEAK and strong.kind not in WEAK and (near or strong.kind == "text_order")
