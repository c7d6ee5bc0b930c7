"""Answers that come back otherwise than they were generated.

An engine caches what it generates; the next turn finds it when the client sends the answer back as it was. Trimmed
text and arguments written anew are other tokens, and all behind them is computed again. Needs responses in the log.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from lint.rule import Location, Sighting
from lint.traffic.answers import Said, answered, sent_back
from lint.traffic.losses import Loss
from lint.traffic.watcher import Exchange, Note
from prefix.divergence import compact_json
from prefix.realign import common_prefix

_REMEMBERED: Final = 4096
_MEMORY: Final = 16 << 20
_TITLES: Final = {
    "blanks": "answers come back with other white space around or in them",
    "text": "answers come back with other text",
    "calls": "tool calls come back with other names or arguments",
    "spelling": "arguments of tool calls come back spelled otherwise",
}


class Echoes:
    """The latest answers, until the turn that sends them back."""

    def __init__(self) -> None:
        self._answers: OrderedDict[int, Any] = OrderedDict()
        self._sizes: dict[int, int] = {}
        self._held = 0
        self._found: dict[str, tuple[Sighting, int, int]] = {}
        self._bytes = 0

    def see(self, exchange: Exchange) -> None:
        """Compare the last answer in a conversation with what was generated, and remember the new one."""
        self._bytes += len(exchange.request.view)
        if exchange.before is not None and exchange.before.number in self._answers:
            self._compare(exchange, self._answers[exchange.before.number])
        if exchange.logged.answer is not None:
            self._remember(exchange.request.number, exchange.logged.answer)

    def notes(self, _losses: Sequence[Loss]) -> Iterator[Note]:
        """One per kind of difference."""
        for kind, (sighting, count, lost) in self._found.items():
            note = Note.counted("echo", sighting, count, lost, self._bytes)
            hint = replace(note.sighting, severity="info") if kind == "spelling" else note.sighting
            yield note._replace(sighting=hint)

    def _remember(self, number: int, answer: Any) -> None:
        size = len(compact_json(answer))
        self._answers[number], self._sizes[number] = answer, size
        self._held += size
        while len(self._answers) > _REMEMBERED or (self._held > _MEMORY and len(self._answers) > 1):
            old, _ = self._answers.popitem(last=False)
            self._held -= self._sizes.pop(old)

    def _compare(self, exchange: Exchange, answer: Any) -> None:
        turns, at, key = _place(exchange)
        given, back = answered(answer), sent_back(turns, at)
        if given is None or back is None:
            return
        kind = _difference(given, back)
        if kind is None:
            return
        request = exchange.request
        a, b = _values(given, back, kind)
        lost = len(compact_json(turns[at])) - common_prefix(a, b)
        pointer = f"/{key}/{at}"
        new = Sighting(
            message=f"{_TITLES[kind]}, first in {pointer}",
            values=(a, b),
            location=Location(request.row, 1),
            request=request.number,
            pointer=pointer,
        )
        sighting, count, so_far = self._found.get(kind, (new, 0, 0))
        self._found[kind] = sighting, count + 1, so_far + max(0, lost)


def _place(exchange: Exchange) -> tuple[list[Any], int, str]:
    """The conversation, and where the answer to the request before should stand in it."""
    key = "input" if "input" in exchange.request.body else "messages"
    turns = exchange.request.body.get(key)
    before = exchange.before.body.get(key) if exchange.before is not None else None
    if not isinstance(turns, list) or not isinstance(before, list) or turns[: len(before)][-1:] != before[-1:]:
        return [], 0, key
    return turns, len(before), key


def _difference(given: Said, back: Said) -> str | None:
    """What differs first; reasoning does not count, since templates leave that of earlier turns out."""
    if given.text != back.text and not (given.thought and given.text.strip() == back.text.strip()):
        if given.text.split() == back.text.split():
            return "blanks"
        return "text" if _is_echo(given.text, back.text) else None
    if [(call.name, _ordered(call.arguments)) for call in given.calls] != [
        (call.name, _ordered(call.arguments)) for call in back.calls
    ]:
        return "calls"
    raws = zip(given.calls, back.calls, strict=True)
    return "spelling" if any(one.raw and other.raw and one.raw != other.raw for one, other in raws) else None


def _is_echo(given: str, back: str) -> bool:
    """Most of the one stands in the other: a log may hide answers, and a user may have taken another one."""
    least = min(len(given), len(back))
    start = common_prefix(given, back)
    end = common_prefix(given[start:][::-1], back[start:][::-1])
    return (start + end) * 2 >= least > 0


def _ordered(value: Any) -> bytes:
    return compact_json(value)


def _values(given: Said, back: Said, kind: str) -> tuple[str, str]:
    if kind in ("blanks", "text"):
        return given.text, back.text
    texts = [
        " ".join(
            call.name + (call.raw if call.raw is not None else compact_json(call.arguments).decode(errors="replace"))
            for call in said.calls
        )
        for said in (given, back)
    ]
    return texts[0], texts[1]
