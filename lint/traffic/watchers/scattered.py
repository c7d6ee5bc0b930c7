"""Prompts that were sent to a worker which had less of them than another one.

Needs to know who served each request. Each block of a prompt is remembered with the workers that have seen it, as
bits; the deepest block that any worker has, and the deepest that this one has, say what routing cost.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from lint.rule import Location, Sighting
from lint.traffic.generations import Generations
from lint.traffic.losses import Loss
from lint.traffic.seen import block_end
from lint.traffic.watcher import Exchange, Note

_LEAST: Final = 1024
"""Bytes by which another worker must be ahead."""
_BLOCKS: Final = 1 << 17
_WORKERS: Final = 256
_REFRESH: Final = 16
"""Each so many requests, blocks that the worker has are remembered anew."""
_OFTEN: Final = 0.1
"""Of the requests: a new worker has to see each prefix once, and that is no fault."""


class Scattered:
    """Which worker has seen which block."""

    def __init__(self) -> None:
        self._bits: dict[str, int] = {}
        self._blocks: Generations[int, int] = Generations(_BLOCKS)
        self._first: Sighting | None = None
        self._requests = self._count = self._lost = self._bytes = 0

    def see(self, exchange: Exchange) -> None:
        """Nothing for a log that names no workers."""
        worker = exchange.logged.worker
        if worker is None or (worker not in self._bits and len(self._bits) >= _WORKERS):
            return
        bit = self._bits.setdefault(worker, 1 << len(self._bits))
        request, keys = exchange.request, exchange.keys
        self._requests += 1
        self._bytes += len(request.view)
        anywhere, here = self._depth(keys, -1), self._depth(keys, bit)
        lost = block_end(anywhere) - block_end(here)
        if lost >= _LEAST:
            self._count += 1
            self._lost += lost
            self._first = self._first or Sighting(
                message="sent to another worker than the one that has most of its prefix",
                values=(worker,),
                location=Location(request.row, 1),
                request=request.number,
            )
        stale = self._requests % _REFRESH == 0
        for key in keys[1 if stale else here + 1 :]:
            self._blocks.set(key, (self._blocks.get(key) or 0) | bit)

    def _depth(self, keys: Sequence[int], bits: int) -> int:
        """How many leading blocks workers of these bits have."""
        low, high = 0, len(keys) - 1
        while low < high:
            middle = (low + high + 1) // 2
            if (self._blocks.get(keys[middle]) or 0) & bits:
                low = middle
            else:
                high = middle - 1
        return low

    def notes(self, _losses: Sequence[Loss]) -> Iterator[Note]:
        """One for the log."""
        if self._first is not None and len(self._bits) > 1 and self._count >= _OFTEN * self._requests:
            yield Note.counted("scattered", self._first, self._count, self._lost, self._bytes)
