"""Everything the dashboard shows of finished requests, fed by one `record` each.

Requests are recorded by one thread, and long tables are read by others, so a lock makes each record and each reading
of one part whole. Nobody holds it for longer than one row takes.
"""

from collections.abc import Iterator
from threading import Lock
from typing import Final

from prefix.record import RequestRecord
from telemetry.catalog import INPUT_TOKENS
from telemetry.cells import Key, TokenSums
from telemetry.history import FLEET_STEP_S, FLEET_STEPS, STEP_S, Point, Ring, Rings, delta, points
from telemetry.latency import Lengths
from telemetry.versions import Version, Versions

RATE_STEPS: Final = 6
"""Steps of the fleet's history, one minute, over which requests per second are counted."""


class Board:
    """Since `started` (Unix seconds). Keys are label tuples: route, customer, prompt version."""

    def __init__(self, started: float) -> None:
        self.started = started
        self.lock = Lock()
        self.versions = Versions()
        self._totals = TokenSums()
        self._fleet = Ring(FLEET_STEP_S, FLEET_STEPS)
        self._groups = Rings(INPUT_TOKENS)
        self._lengths: dict[str, Lengths] = {}

    def record(self, key: Key, record: RequestRecord, now: float) -> None:
        """Counts one request that finished now under these labels."""
        amounts = delta(record)
        route, _, version = key
        with self.lock:
            self._totals.count(record)
            self._fleet.add(now, amounts)
            self._groups[key].add(now, amounts)
            self.versions[route, version].record(record, amounts, now)
            lengths = self._lengths.get(route)
            if lengths is None:
                lengths = self._lengths[route] = Lengths()
            lengths.record(record)

    def totals(self) -> TokenSums:
        """A copy of the sums over all requests."""
        copy = TokenSums()
        with self.lock:
            copy.add(self._totals)
        return copy

    def requests_per_s(self, now: float) -> float:
        """Over the last minute, or since the start when that is shorter."""
        seconds = FLEET_STEP_S * (RATE_STEPS - 1) + now % FLEET_STEP_S
        recent = self.history(now, RATE_STEPS * FLEET_STEP_S)[1]
        return sum(point.requests for point in recent) / max(1.0, min(seconds, now - self.started))

    def history(
        self,
        now: float,
        window_s: float,
        *,
        route: str | None = None,
        customer: str | None = None,
        version: str | None = None,
    ) -> tuple[int, list[Point]]:
        """Seconds of a step and the steps of the window: 10 s for all traffic, 60 s for part of it."""
        if route is customer is version is None:
            with self.lock:
                return FLEET_STEP_S, points([self._fleet], now, window_s, FLEET_STEP_S, FLEET_STEPS)
        with self.lock:
            rings = list(self._rings(route, customer, version))
            return STEP_S, points(rings, now, window_s)

    def latency(self, route: str | None) -> Lengths:
        """Of one route or of all."""
        total = Lengths()
        with self.lock:
            for name, lengths in self._lengths.items():
                if route in (None, name):
                    total.add(lengths)
        return total

    def of(self, route: str | None) -> list[tuple[str, str, Version]]:
        """The versions of one route or of all, by route and name. Read each under `lock`."""
        with self.lock:
            keys = sorted(key for key in self.versions if route in (None, key[0]))
            return [(key[0], key[1], self.versions[key]) for key in keys]

    def _rings(self, route: str | None, customer: str | None, version: str | None) -> Iterator[Ring]:
        if customer is None:  # fewer rings, and exact past the limit of label sets
            for (its_route, its_version), found in self.versions.items():
                if route in (None, its_route) and version in (None, its_version):
                    yield found.ring
            return
        for (its_route, its_customer, its_version), ring in self._groups.items():
            if customer == its_customer and route in (None, its_route) and version in (None, its_version):
                yield ring
