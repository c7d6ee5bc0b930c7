"""Logs of requests, and single request bodies: `.jsonl`, `.ndjson`, `.json`, `.csv`, also gzipped; `-` is one too."""

from collections.abc import Iterator
from typing import Any, BinaryIO

from lint.bodies import RequestBody
from lint.documents import NotInspected, Unreadable
from lint.rule import Location
from lint.source import Source
from lint.traffic.engine import Traffic, TrafficEngine
from lint.traffic.reading import Tally, requests


def read(filename: str, file: BinaryIO) -> Iterator[Traffic | RequestBody | Unreadable | NotInspected]:
    """One Traffic for a log, one RequestBody for a request that is alone; and what was no request."""
    engine, tally = TrafficEngine(), Tally()
    first: tuple[int, dict[str, Any]] | None = None
    count = 0
    for row, body in requests(filename, file, tally):
        count += 1
        first = first or (row, body)
        engine.add(body, row)
    if count == 1 and first is not None:
        row, body = first
        in_log = filename.lower().removesuffix(".gz").endswith("l")
        yield RequestBody(filename, body, 0 if in_log else None, Location(row, 1) if in_log else None)
    elif count:
        yield engine.result(filename)
    yield from tally.documents(filename)


SOURCE = Source(
    "traffic", tuple(f"{kind}{gz}" for kind in (".jsonl", ".ndjson", ".json", ".csv") for gz in ("", ".gz")), read
)
