"""A client that makes labels up without end costs a bounded number of series, and bounded memory."""

import gc
import tracemalloc
from collections.abc import Iterator
from itertools import islice

import pytest

from telemetry.aggregate import Aggregate
from telemetry.labels import OTHER, Labels
from telemetry.setup import create_exporters
from tests.telemetry.flood import Make, flood, size

FULL = 4_000
"""Requests of the flood after which no label has room."""


@pytest.fixture
def _traced() -> Iterator[None]:
    """Python's own count of its memory."""
    tracemalloc.start()
    yield
    tracemalloc.stop()


def _held() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


@pytest.mark.usefixtures("_traced")
@pytest.mark.parametrize("more", [2_000, pytest.param(96_000, marks=[pytest.mark.slow, pytest.mark.timeout(400)])])
def test_label_flood_leaves_series_and_memory_bounded(make_record: Make, more: int) -> None:
    """Once the labels are full, further made-up values add no label set and no memory, and sums stay exact."""
    aggregate = Aggregate(Labels(["chat"], models=["m"]))
    for record in flood(make_record, 0, FULL):
        aggregate.record(record)
    full, held = size(aggregate), _held()
    for record in flood(make_record, FULL, more):
        aggregate.record(record)
    assert size(aggregate) == full
    assert _held() - held < 128 << 10
    families = {family.metric.name: family for family in aggregate.snapshot()}
    assert sum(value for _, value in families["prefixgate.input_tokens"].points) == (FULL + more) * 1000
    assert sum(value for _, value in families["prefixgate.requests"].points) == FULL + more
    assert (OTHER,) * 3 in dict(families["prefixgate.input_tokens"].points)  # what PrefixgateLabelOverflow looks for
    assert all(len(family.points) <= family.metric.limit for family in families.values())


def test_label_flood_leaves_a_scrape_of_bounded_size(make_record: Make) -> None:
    """What Prometheus gets does not grow with made-up values."""
    aggregate = Aggregate(Labels(["chat"], models=["m"]))
    exporters = create_exporters(aggregate, tuple)
    records = flood(make_record, 0, FULL + 1_000)
    lines = []
    for count in (FULL, 1_000):
        for record in islice(records, count):
            aggregate.record(record)
        lines.append(exporters.prometheus()[0].count(b"\n"))
    assert lines[0] == lines[1]
