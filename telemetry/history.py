"""What happened when: token sums per step of time, in rings of plain integers.

One ring of 10 s steps over an hour for the fleet, rings of minutes for parts of the traffic. A ring is one flat
array, so 60 minutes cost 6 KB whatever happened in them, and a request costs a few additions: a slot is cleared when
time comes round to it again, and its stamp says of which step it is. Time is an argument that never goes back.
"""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import add
from typing import Final

from prefix.record import RequestRecord, UncachedReason
from telemetry.attribution import REASONS
from telemetry.cells import Cells

FLEET_STEP_S: Final = 10
FLEET_STEPS: Final = 360
STEP_S: Final = 60
STEPS: Final = 60

_WIDTH: Final = 5 + len(REASONS)
_REASON: Final = {reason: place for place, reason in enumerate(REASONS, 5)}
_NONE: Final[dict[UncachedReason, int]] = {}
_EMPTY: Final = array("Q", bytes(8 * _WIDTH))

Delta = tuple[tuple[int, int], ...]
"""What one request adds: (field, amount)."""


@dataclass(frozen=True, slots=True)
class Sums:
    """Of some requests; tokens as in telemetry.cells.TokenSums."""

    requests: int
    input_tokens: int
    cached_tokens: int
    expected_cached_tokens: int
    unknown_requests: int
    uncached_by_reason: dict[UncachedReason, int]

    @property
    def hit_rate(self) -> float | None:
        """Cached / input tokens; None without any whose cached count is known."""
        return self.cached_tokens / self.input_tokens if self.input_tokens else None


@dataclass(frozen=True, slots=True)
class Point(Sums):
    """The requests that finished in one step. at: its beginning, Unix seconds."""

    at: float


def delta(record: RequestRecord, tokens: tuple[int, int] | None) -> Delta:
    """What a record adds to a step. tokens: prompt and cached ones, when they are known."""
    if tokens is None:
        return ((0, 1), (4, 1))
    reasons = [(_REASON[reason], count) for reason, count in (record.uncached_by_reason or _NONE).items()]
    return ((0, 1), (1, tokens[0]), (2, tokens[1]), (3, record.expected_cached_tokens or 0), *reasons)


class Total:
    """Over all time."""

    __slots__ = ("_sums",)

    def __init__(self) -> None:
        self._sums = [0] * _WIDTH

    def add(self, amounts: Delta) -> None:
        """Counts a request."""
        sums = self._sums
        for field, amount in amounts:
            sums[field] += amount

    def sums(self) -> Sums:
        """A copy."""
        return Sums(*_named(self._sums))


class Ring:
    """The last `steps` steps of `step_s` seconds each."""

    __slots__ = ("_stamps", "_sums", "step_s", "steps")

    def __init__(self, step_s: int = STEP_S, steps: int = STEPS) -> None:
        self.step_s, self.steps = step_s, steps
        self._stamps = array("q", [-1]) * steps
        self._sums = array("Q", bytes(8 * _WIDTH * steps))

    def add(self, now: float, amounts: Delta) -> None:
        """Counts a request that finished at this time."""
        step = int(now // self.step_s)
        slot = step % self.steps
        base = slot * _WIDTH
        if self._stamps[slot] != step:
            self._stamps[slot] = step
            self._sums[base : base + _WIDTH] = _EMPTY
        sums = self._sums
        for field, amount in amounts:
            sums[base + field] += amount

    def requests(self, now: float, window_s: float) -> int:
        """How many finished in the steps of the window."""
        last = int(now // self.step_s)
        found = (self.step(number) for number in range(last - round(window_s / self.step_s) + 1, last + 1))
        return sum(sums[0] for sums in found if sums is not None)

    def hit_rates(self, now: float, steps: int) -> list[float | None]:
        """Of the last steps, oldest first; None for one without a known cached count."""
        last = int(now // self.step_s)
        found = (self.step(number) for number in range(last - steps + 1, last + 1))
        return [sums[2] / sums[1] if sums is not None and sums[1] else None for sums in found]

    def step(self, number: int) -> Sequence[int] | None:
        """The sums of one step, None without requests. number: its beginning / step_s."""
        slot = number % self.steps
        return self._sums[slot * _WIDTH : (slot + 1) * _WIDTH] if self._stamps[slot] == number else None


class Rings(Cells[Ring]):
    """Minutes of each route, customer and prompt version."""

    def _new(self) -> Ring:
        return Ring()


def points(
    rings: Iterable[Ring], now: float, window_s: float, step_s: int = STEP_S, steps: int = STEPS
) -> list[Point]:
    """The sums of several rings of equal steps, oldest step first, the running one last; steps without requests too.

    window_s: how far back, at most what the rings hold.
    """
    last = int(now // step_s)
    first = last - max(1, min(steps, round(window_s / step_s))) + 1
    sums: list[Sequence[int]] = [_EMPTY] * (last - first + 1)
    for ring in rings:
        for place, number in enumerate(range(first, last + 1)):
            found = ring.step(number)
            if found is not None:
                sums[place] = tuple(map(add, sums[place], found))
    found_at = zip(sums, range(first, last + 1), strict=True)
    return [Point(*_named(each), at=float(number * step_s)) for each, number in found_at]


def _named(sums: Sequence[int]) -> tuple[int, int, int, int, int, dict[UncachedReason, int]]:
    requests, prompt, cached, expected, unknown, *counts = sums
    reasons = {reason: count for reason, count in zip(REASONS, counts, strict=True) if count}
    return requests, prompt, cached, expected, unknown, reasons
