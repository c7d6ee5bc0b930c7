"""Everything the dashboard shows of finished requests, fed by one `record` each.

Requests are recorded by one thread, and long tables are read by others, so a lock makes each record and each reading
of one part whole. Nobody holds it for longer than one row takes.
"""

from collections.abc import Iterator
from threading import Lock
from typing import Final

from prefix.record import RequestRecord
from prefix.view import View
from telemetry.catalog import INPUT_TOKENS
from telemetry.cells import Key, TokenSums
from telemetry.comparison import Comparison, compare
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

    def record(self, key: Key, record: RequestRecord, now: float, view: View | None = None) -> None:
        """Counts one request that finished now under these labels. view: of its prompt, None when nobody sees it."""
        amounts = delta(record)
        route, _, version = key
        with self.lock:
            self._totals.count(record)
            self._fleet.add(now, amounts)
            self._groups[key].add(now, amounts)
            self.versions.record((route, version), record, view, amounts, now)
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

    def find(self, route: str, name: str) -> Version | None:
        """A version, to be read under `lock`."""
        return self.versions.get((route, name))

    def compare(self, route: str, name: str) -> Comparison | None:
        """A version with its predecessor; None when it is not there or has none."""
        with self.lock:
            after = self.versions.get((route, name))
            if after is None or after.predecessor is None:
                return None
            before = self.versions[route, after.predecessor.name]
            sides = before.sums.requests, after.sums.requests
            batches = before.batches.sums(), after.batches.sums()
            medians = before.ttft.quantile(0.5), after.ttft.quantile(0.5)
            opening = after.opening.size if after.opening is not None else 0
        return compare(after.predecessor, opening, sides, batches, medians)

    def hit_rate_changes(self) -> dict[tuple[str, str], float]:
        """By route and version: hit rate after less before, of those with enough data."""
        found = ((route, name, self.compare(route, name)) for route, name, _ in self.of(None))
        return {
            (route, name): each.hit_rate.change
            for route, name, each in found
            if each is not None and each.hit_rate is not None and each.verdict != "not enough data"
        }

    def _rings(self, route: str | None, customer: str | None, version: str | None) -> Iterator[Ring]:
        if customer is None:  # fewer rings, and exact past the limit of label sets
            for (its_route, its_version), found in self.versions.items():
                if route in (None, its_route) and version in (None, its_version):
                    yield found.ring
            return
        for (its_route, its_customer, its_version), ring in self._groups.items():
            if customer == its_customer and route in (None, its_route) and version in (None, its_version):
                yield ring
