"""Requests out of a log, line by line: memory does not grow with the log, and no line is dropped in silence."""

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, cast

import msgspec

from lint.documents import NotInspected, Unreadable
from lint.rule import Location
from lint.traffic.exports import requests_of
from lint.traffic.exports.table import rows
from lint.traffic.lines import pieces
from lint.traffic.logged import Logged

LONGEST_LINE: Final = 32 << 20
"""Bytes of a line, or of a file that is one JSON document, that are read; longer ones are reported."""
_SHOWN: Final = 4
"""Bad lines that are named."""
_BROKEN: Final = (OSError, EOFError, zlib.error, csv.Error)
_decode = msgspec.json.Decoder().decode


@dataclass(slots=True)
class Tally:
    """What was no request. first_bad: row and reason of the first line that does not parse; bad_rows: of the first
    few."""

    bad: int = 0
    first_bad: tuple[int, str] = (0, "")
    bad_rows: tuple[int, ...] = ()
    without_prompt: int = 0

    def documents(self, filename: str) -> Iterator[Unreadable | NotInspected]:
        """What the linter has to say of them."""
        if self.bad:
            row, reason = self.first_bad
            others = ", ".join(f"{other:,}" for other in self.bad_rows[1:])
            more = "" if self.bad <= len(self.bad_rows) else ", …"
            reason += f"; also {others}{more}" if others else ""
            yield Unreadable(filename, reason, Location(row, 1), self.bad)
        if self.without_prompt:
            yield NotInspected(filename, "no prompt in it", occurrences=self.without_prompt)

    def spoiled(self, row: int, reason: str) -> None:
        """Count a line that does not parse."""
        if not self.bad:
            self.first_bad = (row, reason)
        if len(self.bad_rows) < _SHOWN:
            self.bad_rows += (row,)
        self.bad += 1


def requests(filename: str, file: BinaryIO, tally: Tally) -> Iterator[tuple[int, dict[str, Any]]]:
    """Row (from 1) and parsed body of each request in a log, or in one JSON document: a body, or a list of them."""
    return ((row, found.body) for row, found in logged_requests(filename, file, tally))


def logged_requests(filename: str, file: BinaryIO, tally: Tally) -> Iterator[tuple[int, Logged]]:
    """Row (from 1) of each request, and all that the log says of it."""
    name = filename.lower()
    stream = cast("BinaryIO", gzip.GzipFile(fileobj=file)) if name.endswith(".gz") or _packed(file) else file
    row = 0
    try:
        if name.removesuffix(".gz").endswith(".csv"):
            for row, fields in rows(stream, LONGEST_LINE):
                yield from _of_value(row, fields, tally)
            return
        for row, line in pieces(stream, LONGEST_LINE, _is_json):
            if line is None:
                tally.spoiled(row, f"longer than {LONGEST_LINE >> 20} MB")
            elif line.strip():
                yield from _of_line(row, line, tally)
    except _BROKEN as error:
        tally.spoiled(row + 1, f"cannot be read on: {error}")


def _packed(file: BinaryIO) -> bool:
    """Standard input has no name that would tell."""
    return isinstance(file, io.BufferedReader) and file.peek(2).startswith(b"\x1f\x8b")


def _of_line(row: int, line: bytes, tally: Tally) -> Iterator[tuple[int, Logged]]:
    value = _parse(line)
    if value is None:
        tally.spoiled(row, "not JSON" if line.endswith(b"\n") or len(line) < 2 else "not JSON: it breaks off")
    else:
        yield from _of_value(row, value, tally)


def _of_value(row: int, value: Any, tally: Tally) -> Iterator[tuple[int, Logged]]:
    for found in requests_of(value, _parse_object):
        if found is None:
            tally.without_prompt += 1
        else:
            yield row, found


def _parse_object(raw: bytes) -> dict[str, Any]:
    value = _parse(raw)
    return value if isinstance(value, dict) else {}


def _is_json(raw: bytes) -> bool:
    return _parse(raw) is not None


def _parse(raw: bytes) -> Any:
    """None when it is not JSON. What Python's parser takes and msgspec does not, some engine may take too."""
    try:
        return _decode(raw)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None
