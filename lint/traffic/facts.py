"""What a log says of itself: how long it is in time, what its prompts are in tokens, and how many were cached."""

from dataclasses import dataclass
from typing import Final

from lint.costing import DAY
from lint.traffic.logged import Logged

_MOST: Final = 0.9
"""With fewer of the requests timed there is no rate."""


@dataclass(slots=True)
class Facts:
    """Sums over a log. sized_bytes: of the views of requests with a token count."""

    requests: int = 0
    timed: int = 0
    first: float = 0.0
    last: float = 0.0
    sized_bytes: int = 0
    sized_tokens: int = 0
    reported_input: int = 0
    reported_cached: int = 0

    def add(self, logged: Logged, view_bytes: int) -> None:
        """Count one request. view_bytes: of its prompt."""
        self.requests += 1
        if logged.started is not None:
            self.first = min(self.first, logged.started) if self.timed else logged.started
            self.last = max(self.last, logged.started) if self.timed else logged.started
            self.timed += 1
        if logged.input_tokens:
            self.sized_bytes += view_bytes
            self.sized_tokens += logged.input_tokens
            if logged.cached_tokens is not None:
                self.reported_input += logged.input_tokens
                self.reported_cached += logged.cached_tokens

    @property
    def bytes_per_token(self) -> float | None:
        """None when the log counts no tokens."""
        return self.sized_bytes / self.sized_tokens if self.sized_tokens else None

    @property
    def hit_rate(self) -> float | None:
        """What the log itself reports, over the requests that say so."""
        return self.reported_cached / self.reported_input if self.reported_input else None

    @property
    def days(self) -> float | None:
        """How long the log took to come; None when too few of its requests say when they came."""
        length = self.last - self.first
        return length / DAY if length > 0 and self.timed >= max(2, _MOST * self.requests) else None
