"""Sums per stretch of time, few of them however long it goes on: what tells how much a ratio varies by chance.

Requests are no independent samples: those of one conversation, and those that find the same cache, do well or badly
together. Sums over stretches that are longer than what ties requests together are nearly independent (batch means,
Law & Kelton, Simulation Modeling and Analysis, 9.5.3). A series begins with stretches of 10 s; whenever there are 64
of them their length doubles and neighbours become one. Stretches without requests take no room, so a quiet night does
not melt the day before it into one. Time is an argument; memory is constant.
"""

from collections.abc import Sequence
from typing import Final

FIRST_LENGTH_S: Final = 10.0
MOST: Final = 64

Sums = tuple[float, float, float, float]


class Batches:
    """The stretches of one series of requests; each holds four sums of what `add` was given, oldest first."""

    __slots__ = ("_length_s", "_numbers", "_sums")

    def __init__(self) -> None:
        self._length_s = FIRST_LENGTH_S
        self._numbers: list[int] = []
        self._sums: list[list[float]] = []

    def add(self, now: float, values: Sums) -> None:
        """Counts one request, at a time in seconds that does not go back."""
        number = int(now // self._length_s)
        self._put(number, values)
        while len(self._numbers) >= MOST:
            self._double()

    def sums(self) -> list[Sums]:
        """A copy."""
        return [(a, b, c, d) for a, b, c, d in self._sums]

    def _put(self, number: int, values: Sequence[float]) -> None:
        if not self._numbers or self._numbers[-1] < number:
            self._numbers.append(number)
            self._sums.append([*values])
            return
        last = self._sums[-1]
        last[0] += values[0]
        last[1] += values[1]
        last[2] += values[2]
        last[3] += values[3]

    def _double(self) -> None:
        self._length_s *= 2
        numbers, sums = self._numbers, self._sums
        self._numbers, self._sums = [], []
        for number, values in zip(numbers, sums, strict=True):
            self._put(number // 2, values)
