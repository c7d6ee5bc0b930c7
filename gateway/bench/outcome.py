"""What the client saw of one request.

All times are seconds after the run's start. `due_s` is when the request was meant to be sent: its scheduled time or,
later, the end of the session's previous turn. Latencies run from there, not from when this client got round to
sending it: what is lost here counts as waiting, so a slow target cannot hide by slowing the load (Tene's coordinated
omission).
"""

from array import array

import msgspec

REJECTED = "rejected"
"""The error of 429 and 503: the target said that it has too much to do."""


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """One request, ended. None: it did not come to that, or nobody said.

    side: 0, or 1 for the target that is compared with it. pair: which pair of windows. planned_s: by the schedule.
    content_s: when each event with generated content came, empty for an answer in one piece. prompt_tokens: as the
    source says. error: its kind, None for a completed request; detail: what was said.
    """

    number: int
    side: int
    pair: int
    path: str
    route: str
    measured: bool
    planned_s: float
    due_s: float
    sent_s: float
    ended_s: float
    content_s: "array[float]"
    prompt_tokens: int | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    error: str | None = None
    detail: str = ""

    @property
    def ttft_s(self) -> float | None:
        """To the first content."""
        return self.content_s[0] - self.due_s if self.content_s else None

    @property
    def e2e_s(self) -> float:
        """To the end."""
        return self.ended_s - self.due_s

    @property
    def gaps_s(self) -> list[float]:
        """Between one event with content and the next, as they reached this client."""
        times = self.content_s
        return [times[nth] - times[nth - 1] for nth in range(1, len(times))]

    @property
    def tpot_s(self) -> float | None:
        """Time for each token after the first, by the count that the engine reported."""
        if len(self.content_s) < 2 or self.output_tokens is None or self.output_tokens < 2:
            return None
        return (self.content_s[-1] - self.content_s[0]) / (self.output_tokens - 1)

    @property
    def lag_s(self) -> float:
        """How much too late this client sent it."""
        return self.sent_s - self.due_s

    @property
    def shift_s(self) -> float:
        """How much later than scheduled it was due, because the session's previous turn had not ended."""
        return self.due_s - self.planned_s
