"""What is known of each prompt version of each route: when it was seen, its sums, its last hour, its TTFT."""

from typing import Final

from prefix.record import RequestRecord
from telemetry.catalog import INPUT_TOKENS
from telemetry.cells import Cells, TokenSums
from telemetry.facts import ttft_s
from telemetry.history import STEP_S, Delta, Ring, points
from telemetry.latency import LogHistogram

SPARKLINE_MINUTES: Final = 30


class Version:
    """One prompt version of one route. Times are Unix seconds; declared: named by the client or the configuration."""

    __slots__ = ("declared", "first_seen", "last_seen", "ring", "sums", "ttft")

    def __init__(self) -> None:
        self.declared = False
        self.first_seen = self.last_seen = 0.0
        self.sums = TokenSums()
        self.ring = Ring()
        self.ttft = LogHistogram()

    def record(self, record: RequestRecord, amounts: Delta, now: float) -> None:
        """Counts one request of this version."""
        if not self.sums.requests:
            self.first_seen, self.declared = now, record.prompt_version_declared
        self.last_seen = now
        self.sums.count(record)
        self.ring.add(now, amounts)
        first = ttft_s(record)
        if first is not None:
            self.ttft.observe(first)

    def sparkline(self, now: float) -> list[float | None]:
        """The hit rates of the last minutes, oldest first; None for a minute without a known one."""
        return [point.hit_rate for point in points([self.ring], now, SPARKLINE_MINUTES * STEP_S)]


class Versions(Cells[Version]):
    """By route and version label, `other` and `unversioned` too, so that they add up to all requests."""

    def __init__(self) -> None:
        super().__init__(INPUT_TOKENS)

    def _new(self) -> Version:
        return Version()
