"""Token buckets: one fills at its rate up to its capacity, and whoever finds enough in it takes it. Pure.

`now` is seconds of any monotonic clock.
"""

from typing import Literal, NamedTuple

Kind = Literal["requests", "tokens", "concurrency"]


class Standing(NamedTuple):
    """Where a customer stands with one limit. window_s: from empty to full. reset_s: from now to full."""

    kind: Kind
    limit: int
    remaining: int
    window_s: float
    reset_s: float


class Bucket:
    """Fills at `rate` a second up to `capacity`; `level` may be negative."""

    __slots__ = ("_at", "capacity", "level", "rate")

    def __init__(self, capacity: float, rate: float) -> None:
        self.capacity = capacity
        self.rate = rate
        self.level = capacity
        self._at: float | None = None

    def fill(self, now: float) -> None:
        """Bring the level up to date. A clock that goes back adds nothing."""
        if self._at is not None and now > self._at:
            self.level = min(self.capacity, self.level + (now - self._at) * self.rate)
        self._at = now

    def wait_s(self, amount: float) -> float:
        """Seconds until `amount` (or a full bucket, where that is less) is there; 0: now."""
        return max(0.0, (min(amount, self.capacity) - self.level) / self.rate)

    def give(self, amount: float) -> None:
        """Put back what was not used, or take (negative) what was used beyond the estimate."""
        self.level = min(self.capacity, self.level + amount)

    def standing(self, kind: Kind) -> Standing:
        """As of the last `fill`."""
        full_s = (self.capacity - self.level) / self.rate
        return Standing(kind, int(self.capacity), max(0, int(self.level)), self.capacity / self.rate, full_s)
