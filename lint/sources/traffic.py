"""Logs of requests, and single request bodies: `.jsonl`, `.ndjson`, `.json`, `.csv`, also gzipped; `-` is one too."""

from collections.abc import Iterator
from typing import BinaryIO

from lint.bodies import RequestBody
from lint.costing import Costing
from lint.documents import NotInspected, Unreadable
from lint.rule import Document, Location
from lint.source import Source
from lint.traffic.engine import Traffic, TrafficEngine
from lint.traffic.logged import Logged
from lint.traffic.pricing import priced
from lint.traffic.reading import Tally, logged_requests


def read(filename: str, file: BinaryIO) -> Iterator[Traffic | RequestBody | Unreadable | NotInspected]:
    """One Traffic for a log, one RequestBody for a request that is alone; and what was no request."""
    engine, tally = TrafficEngine(), Tally()
    first: tuple[int, Logged] | None = None
    count = 0
    for row, logged in logged_requests(filename, file, tally):
        count += 1
        first = first or (row, logged)
        engine.add(logged, row)
    if count == 1 and first is not None:
        row, logged = first
        in_log = filename.lower().removesuffix(".gz").endswith("l")
        yield RequestBody(filename, logged.body, 0 if in_log else None, Location(row, 1) if in_log else None)
    elif count:
        yield engine.result(filename)
    yield from tally.documents(filename)


def price(document: Document, file: BinaryIO, costing: Costing) -> Document:
    """What is lost in a log, replayed."""
    return priced(document, file, costing) if isinstance(document, Traffic) else document


SOURCE = Source(
    "traffic",
    tuple(f"{kind}{gz}" for kind in (".jsonl", ".ndjson", ".json", ".csv") for gz in ("", ".gz")),
    read,
    price,
)
