"""A page in the Prometheus text format as numbers that can be subtracted.

One idea: what counts up and what stands still are kept apart. Counters and histograms are added up over labels and
pages (ranks, several engines), as the difference of two moments is a fact about all of them, but for the stage of a
request, which is part of the name (`…_seconds:prefill_forward`); gauges keep their values.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import inf, isfinite

import msgspec
from prometheus_client.parser import text_string_to_metric_families

from prefix.errors import EngineError


class Page(msgspec.Struct, frozen=True):
    """One look. counters: by name, histograms' sums and counts included. buckets: by histogram and upper bound,
    cumulative. gauges: every sample's value."""

    counters: Mapping[str, float]
    buckets: Mapping[str, Mapping[float, float]]
    gauges: Mapping[str, Sequence[float]]


class Histogram(msgspec.Struct, frozen=True):
    """What was observed between two looks. rows: (lower bound, upper bound, how many), the last one open upwards."""

    count: float
    total: float
    rows: tuple[tuple[float, float, float], ...]

    @property
    def mean(self) -> float:
        """Of all that was observed, which is at least one."""
        return self.total / self.count

    def quantile(self, share: float) -> float:
        """Interpolated in its bucket; the lower bound of an open one."""
        wanted = share * sum(count for _, _, count in self.rows)
        for low, high, count in self.rows:
            if count and wanted <= count:
                return low if high == inf else low + (high - low) * wanted / count
            wanted -= count
        return self.rows[-1][0] if self.rows else 0.0


def read_pages(pages: Sequence[str]) -> Page:
    """The engines' pages as one. Raises EngineError for text in another format."""
    counters: dict[str, float] = defaultdict(float)
    buckets: dict[str, dict[float, float]] = defaultdict(lambda: defaultdict(float))
    gauges: dict[str, list[float]] = defaultdict(list)
    try:
        for page in pages:
            for family in text_string_to_metric_families(page):
                for sample in family.samples:
                    if not isfinite(sample.value):
                        continue
                    stage = f":{sample.labels['stage']}" if "stage" in sample.labels else ""
                    name = family.name + stage + sample.name.removeprefix(family.name)
                    if sample.name.endswith("_bucket"):
                        buckets[family.name + stage][float(sample.labels["le"])] += sample.value
                    elif family.type == "gauge":
                        gauges[sample.name].append(sample.value)
                    else:
                        counters[name] += sample.value
    except (ValueError, KeyError) as error:
        raise EngineError(f"/metrics is not in the Prometheus text format: {error}") from None
    return Page(dict(counters), {name: dict(rows) for name, rows in buckets.items()}, dict(gauges))


def grown(before: Page, after: Page, name: str) -> float | None:
    """How much a counter rose; None: it is not there, or the engine restarted in between."""
    if name not in after.counters:
        return None
    risen = after.counters[name] - before.counters.get(name, 0.0)
    return risen if risen >= 0 else None


def observed(before: Page, after: Page, name: str) -> Histogram | None:
    """What a histogram counted; None: it is not there, nothing was observed, or the engine restarted in between."""
    count, total = grown(before, after, f"{name}_count"), grown(before, after, f"{name}_sum")
    if not count or total is None:
        return None
    rows, low, below = [], 0.0, 0.0
    old = before.buckets.get(name, {})
    for high, cumulative in sorted(after.buckets.get(name, {}).items()):
        reached = cumulative - old.get(high, 0.0)
        rows.append((low, high, max(0.0, reached - below)))
        low, below = high, max(below, reached)
    return Histogram(count, total, tuple(rows))


def level(page: Page, name: str) -> float | None:
    """The sum of a gauge over ranks and engines; None: it is not there."""
    return sum(page.gauges[name]) if name in page.gauges else None
