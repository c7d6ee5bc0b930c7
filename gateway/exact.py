"""How far what KV events say of one worker is to be believed: by whether they come, and whether they come true.

One idea: exactness is measured, not assumed. Every request whose prompt could be rendered has an exact prediction,
used or not; its end tells the tokens the engine counted and those it had cached. Events are believed while their
stream is healthy and complete and their predictions come true; another template, tokenizer, hash or model on the same
port shows as predictions that do not, whatever its cause. Pure; fed by gateway.kv_feed and gateway.flight.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final

import msgspec

from prefix.pages import HeldPages

WINDOW: Final = 32
"""Last comparisons that decide."""

ENOUGH: Final = 8
"""Comparisons from which on events may be disbelieved."""

SLACK_PAGES: Final = 2
SLACK_SHARE: Final = 0.05
"""How far a prediction may be off and still count as right: requests meet other requests on their way."""


class Told(msgspec.Struct, frozen=True, gc=False):
    """What the events said of one request at dispatch: its prompt's tokens, and how many of them were held."""

    prompt_tokens: int
    cached_tokens: int


class Exact:
    """One worker of a router as its events have it.

    held: its pages. trouble: why its stream cannot be relied on now, None: it can. complete: whether `held` is all.
    compared, right: finished requests, and those whose cached tokens were predicted to the token. predicted_tokens,
    delivered_tokens: of them.
    """

    __slots__ = (
        "_lengths",
        "_wrong",
        "compared",
        "complete",
        "delivered_tokens",
        "held",
        "predicted_tokens",
        "proven",
        "right",
        "trouble",
    )

    def __init__(self, held: HeldPages) -> None:
        self.held = held
        self.trouble: str | None = "not connected yet"
        self.complete = False
        self.proven: bool | None = None
        self.compared = self.right = self.predicted_tokens = self.delivered_tokens = 0
        self._wrong: deque[bool] = deque(maxlen=WINDOW)
        self._lengths: deque[bool] = deque(maxlen=WINDOW)

    @property
    def reason(self) -> str | None:
        """Why the prediction is used instead; None: events are."""
        if self.trouble is not None:
            return self.trouble
        if self.proven is False:
            wrong, lengths = sum(self._wrong), sum(self._lengths)
            if lengths:
                return (
                    f"{lengths} of the last {len(self._lengths)} prompts had another length than rendered here: "
                    "the engine's chat template or tokenizer is another one"
                )
            return f"{wrong} of the last {len(self._wrong)} predictions were wrong: the events do not fit the prompts"
        if not self.complete and self.proven is None:
            return (
                f"what it held before is not known: {self._in_a_row()} right predictions of {WINDOW} that are needed"
            )
        if self.held.overflow:
            return f"more than {self.held.limit} pages"
        return None

    @property
    def trusted(self) -> bool:
        """Whether events are used."""
        return (
            self.trouble is None
            and self.proven is not False
            and (self.complete or self.proven is True)
            and not self.held.overflow
        )

    def told(self, pages: Sequence[int], prompt_tokens: int) -> Told:
        """What is held of a prompt with these page keys (those that a cache can serve)."""
        size = self.held.page_tokens
        return Told(prompt_tokens, self.held.leading(pages) * size if size else 0)

    def compare(self, told: Told, cached_tokens: int, prompt_tokens: int | None) -> None:
        """A request ended; as the engine reported."""
        self.compared += 1
        self.predicted_tokens += told.cached_tokens
        self.delivered_tokens += cached_tokens
        self.right += told.cached_tokens == cached_tokens
        longer = prompt_tokens is not None and prompt_tokens != told.prompt_tokens
        self._lengths.append(longer)
        if longer or told.cached_tokens or cached_tokens:
            slack = max(SLACK_PAGES * (self.held.page_tokens or 1), SLACK_SHARE * told.prompt_tokens)
            missed = not told.cached_tokens and cached_tokens > 0
            self._wrong.append(longer or missed or abs(told.cached_tokens - cached_tokens) > slack)
            self._judge()

    def renew(self) -> None:
        """Another process, or another cache: what was proven before says nothing."""
        self.proven = None
        self._wrong.clear()
        self._lengths.clear()

    def _judge(self) -> None:
        seen, wrong = len(self._wrong), sum(self._wrong)
        if seen >= ENOUGH and 2 * wrong > seen:
            self.proven = False
        elif self._in_a_row() >= WINDOW:
            self.proven = True

    def _in_a_row(self) -> int:
        row = 0
        for wrong in reversed(self._wrong):
            if wrong:
                break
            row += 1
        return row
