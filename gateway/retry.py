"""Whether a request is tried again: one table, one budget. Pure.

Only before the first byte of an answer, and only where another try can help. What a fault allows is in AGAIN, how
often all requests together may use it in the budget (Finagle's: a share of the recent requests and a small floor,
https://twitter.github.io/finagle/guide/Clients.html#retries), so that a broken fleet is not asked three times over.
"""

from collections.abc import Mapping
from typing import Final

from gateway.http1 import FaultKind

AGAIN: Final[Mapping[FaultKind, int]] = {
    "refused": 9,  # never reached an engine
    "unreachable": 9,
    "unavailable": 9,  # 502, 503: the engine did not take it
    "disconnected": 1,  # it may be the request that ends engines: one more may see it, not all of them
    "busy": 1,  # 429: one with room, else the client waits as it was told
    "timeout": 0,  # it waited long enough, and the work may have been done
    "invalid": 0,
}
"""How many other workers may be tried after this."""

SHARE: Final = 0.2
"""Retries that each request earns."""

FLOOR_PER_S: Final = 1.0
BURST: Final = 20.0
"""Retries earned by a second, and how many there are at first."""

_FADE: Final = 0.99
"""How slowly the bucket forgets, request by request, how many were in flight."""


class RetryBudget:
    """A bucket of retries: each request adds SHARE, each second FLOOR_PER_S, a retry takes one.

    It holds as many as there were requests in flight of late, BURST at least: an engine that ends takes many requests
    with it at once, and all of them may go elsewhere after a good time; a fleet that goes on failing gets a fifth.
    """

    __slots__ = ("_filled", "_most", "_tokens")

    def __init__(self) -> None:
        self._tokens = self._most = BURST
        self._filled: float | None = None

    def earn(self, in_flight: int) -> None:
        """A request came in while there were so many."""
        self._most = max(BURST, in_flight, self._most * _FADE)
        self._tokens = min(self._most, self._tokens + SHARE)

    def take(self, now: float) -> bool:
        """Whether a retry is allowed now; it is paid for. now: seconds, any monotonic origin."""
        passed = max(0.0, now - self._filled) if self._filled is not None else 0.0
        self._filled = now
        self._tokens = min(self._most, self._tokens + passed * FLOOR_PER_S)
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True


class Tries:
    """What one request has left. tried: workers that had it. most: workers that may have it.

    in_flight: requests at all workers now.
    """

    __slots__ = ("_budget", "_left", "tried")

    def __init__(self, budget: RetryBudget, most: int, in_flight: int = 0) -> None:
        self._budget = budget
        self._left = most - 1
        self.tried: set[str] = set()
        budget.earn(in_flight)

    def again(self, kind: FaultKind, now: float) -> bool:
        """Whether another worker may have it after this fault; if so it is paid for."""
        self._left = min(self._left, AGAIN[kind])
        if self._left < 1 or not self._budget.take(now):
            return False
        self._left -= 1
        return True
