"""What was found out about a chat template by rendering it, and the checks that say so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from lint.rule import Check, Location, Severity, Sighting

if TYPE_CHECKING:
    from lint.sources.monotone import Cause, Loss

_ROLES: Final = {
    "user": "the user's message",
    "tool": "a tool's result",
    "assistant": "an answer",
    "system": "the system text",
}


@dataclass(frozen=True, slots=True)
class Clock:
    """kind: `date` or `clock` (finer), "" when no rendered prompt showed it. pinned: `date_string` replaces it."""

    kind: Literal["", "date", "clock"]
    pinned: bool
    row: int
    column: int


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    """A chat template that was rendered. text: of the file. name: of the template in it, "" when it is the only one.
    losses: the greatest of each cause. row: where the template makes the difference, of its own lines when inside is
    set, else of the file; inside: the file's row, for a template in a string of it."""

    filename: str
    text: str
    name: str
    losses: tuple[Loss, ...]
    clock: Clock | None
    row: int
    inside: int = 0

    def place(self, row: int, column: int = 1) -> Location:
        """Where a line of the template is in its file."""
        return Location(self.inside, 1) if self.inside else Location(row, column)

    def said(self, message: str, row: int) -> str:
        """A message with what its place does not say."""
        named = f"template {self.name!r}: " if self.name else ""
        return f"{named}{message}" + (f" (line {row} of the template)" if self.inside else "")


def rewritten() -> Check[ChatTemplate]:
    """The check that each prompt is the beginning of the next."""

    def find(document: ChatTemplate) -> Iterator[Sighting]:
        for loss in document.losses:
            if loss.cause == "history":
                parts = f", which parts at {_ROLES[loss.role]}" if loss.role in _ROLES else ""
                message = (
                    f"in {loss.conversation} request {loss.request + 1} begins with {loss.kept:,} of the "
                    f"{loss.total:,} characters of request {loss.request}{parts}"
                )
                yield _sighting(document, loss, message, "error")
            elif loss.cause == "generation":
                message = (
                    f"in {loss.conversation} the generation prompt is not in the history: the last "
                    f"{loss.total - loss.kept:,} characters of request {loss.request}, and the answer behind them"
                )
                yield _sighting(document, loss, message, "warning")

    return Check(ChatTemplate, find)


def drops_reasoning() -> Check[ChatTemplate]:
    """The check that reasoning stays where it was."""
    return Check(ChatTemplate, lambda document: _of_cause(document, "reasoning"))


def _of_cause(document: ChatTemplate, cause: Cause) -> Iterator[Sighting]:
    for loss in document.losses:
        if loss.cause == cause:
            message = f"in {loss.conversation} reasoning of earlier answers is left out of request {loss.request + 1}"
            yield _sighting(document, loss, message, "info")


def _sighting(document: ChatTemplate, loss: Loss, message: str, severity: Severity) -> Sighting:
    return Sighting(
        message=document.said(message, document.row),
        values=(loss.before, loss.after),
        severity=severity,
        location=document.place(document.row),
    )


def clocks() -> Check[ChatTemplate]:
    """The check that no clock of the engine is printed."""

    def find(document: ChatTemplate) -> Iterator[Sighting]:
        clock = document.clock
        if clock is None:
            return
        what = {"": "a clock, in a branch that our conversations do not reach", "date": "the date of the engine"}
        pin = "; `date_string` in chat_template_kwargs pins it" if clock.pinned else ""
        severities: dict[str, Severity] = {"": "warning", "date": "info", "clock": "error"}
        yield Sighting(
            message=document.said(what.get(clock.kind, "the time of day of the engine") + pin, clock.row),
            severity=severities[clock.kind],
            location=document.place(clock.row, clock.column),
        )

    return Check(ChatTemplate, find)
