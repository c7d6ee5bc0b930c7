"""Everything the dashboard shows of finished requests, fed by one `record` each.

Requests are recorded by one thread, and long tables are read by others, so a lock makes each record and each reading
of one part whole. Nobody holds it for longer than one row takes.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from threading import Lock
from typing import Final

from prefix.record import RequestRecord
from prefix.view import View
from telemetry.catalog import INPUT_TOKENS
from telemetry.cells import Key
from telemetry.comparison import Comparison, Sides, compare
from telemetry.facts import facts
from telemetry.history import FLEET_STEP_S, FLEET_STEPS, STEP_S, Point, Ring, Rings, Sums, Total, delta, points
from telemetry.latency import Lengths, bucket_of
from telemetry.versions import Version, Versions

RATE_STEPS: Final = 6
"""Steps of the fleet's history, one minute, over which requests per second are counted."""

REFRESH: Final = 1.05
_Compared = tuple[tuple[int, int], Comparison]


class Board:
    """Since `started` (Unix seconds). Keys are label tuples: route, customer, prompt version."""

    def __init__(self, started: float) -> None:
        self.started = started
        self.lock = Lock()
        self.versions = Versions()
        self._total = Total()
        self._fleet = Ring(FLEET_STEP_S, FLEET_STEPS)
        self._groups = Rings(INPUT_TOKENS)
        self._lengths: defaultdict[str, Lengths] = defaultdict(Lengths)
        self._compared: dict[tuple[str, str], _Compared] = {}

    def record(self, key: Key, record: RequestRecord, now: float, view: View | None = None) -> None:
        """Counts one request that finished now under these labels. view: of its prompt, None when nobody sees it."""
        seen = facts(record)
        amounts = delta(record, seen.tokens)
        ttft = None if seen.ttft_s is None else bucket_of(seen.ttft_s)
        itl = None if seen.itl_s is None else bucket_of(seen.itl_s)
        route, _, version = key
        with self.lock:
            self._total.add(amounts)
            self._fleet.add(now, amounts)
            self._groups[key].add(now, amounts)
            self.versions.seen((route, version), record, view, now).record(seen, amounts, ttft, now)
            if record.input_tokens is not None:  # one whose prompt nobody counted has no row
                self._lengths[route].record(record.input_tokens, ttft, itl)

    def totals(self) -> Sums:
        """The sums over all requests."""
        with self.lock:
            return self._total.sums()

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
        """A version with its predecessor; None when it is not there or has none.

        Tests of significance are made anew when one of them has a twentieth more requests than at the last ones.
        """
        with self.lock:
            after = self.versions.get((route, name))
            if after is None or after.predecessor is None:
                return None
            before = self.versions[route, after.predecessor.name]
            requests = before.requests, after.requests
            known = self._compared.get((route, name))
            if known is not None and all(map(_is_near, requests, known[0])):
                return replace(known[1], requests=Sides(*requests))
            batches = before.batches.sums(), after.batches.sums()
            medians = before.ttft.median(), after.ttft.median()
            opening = after.opening.size if after.opening is not None else 0
        made = compare(after.predecessor, opening, requests, batches, medians)
        self._compared[route, name] = requests, made
        return made

    def hit_rate_changes(self) -> dict[tuple[str, ...], float]:
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


def _is_near(requests: int, before: int) -> bool:
    return requests < before * REFRESH
