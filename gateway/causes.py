"""Looks for what parts prompts, off the request path and seldom enough to cost next to nothing.

One pair of bodies at a time, in a thread; after it as long a pause as keeps the examinations below SHARE of one core.
A place that is not examined now is met again (telemetry.partings), so nothing is queued.
"""

import asyncio
from typing import Final

from gateway.misses import Miss, Parted
from telemetry.cells import Key
from telemetry.partings import Partings, PlaceName

SHARE: Final = 0.02
"""Of one core's time."""


class Causes:
    """Counts the finished requests that parted, and examines some."""

    def __init__(self) -> None:
        self.partings = Partings()
        self._busy_until = 0.0
        self._examining: asyncio.Task[None] | None = None

    def finished(self, key: Key, miss: Miss, now: float) -> None:
        """A request ended. key: its route and version label. now: seconds, of any monotonic origin."""
        record = miss.record
        tokens = (record.uncached_by_reason or {}).get("divergent")
        if not tokens:
            return
        parting = miss.parting
        parted = None if parting is None else parting.shared
        free = now >= self._busy_until and self._examining is None
        name = record.request_id
        place = self.partings.record(key, record.prompt_version, tokens, name, parted, free=free)
        if place is None or parting is None:
            return
        self._examining = asyncio.get_running_loop().create_task(self._examine(place, name, parting, now))

    async def _examine(self, place: PlaceName, request_id: str, parting: Parted, now: float) -> None:
        try:
            cause, spent_s = await asyncio.to_thread(parting.examine)
            self._busy_until = now + spent_s / SHARE
            self.partings.explain(place, request_id, cause)
        finally:
            self._examining = None
