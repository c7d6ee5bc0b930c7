"""Requests out of a log, line by line: memory does not grow with the log, and no line is dropped in silence."""

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, NamedTuple

import msgspec

from lint.documents import NotInspected, Unreadable
from lint.rule import Location
from prefix.envelope import has_prompt, unwrap

LONGEST_LINE: Final = 32 << 20
"""Bytes of a line, or of a file that is one JSON document, that are read; longer ones are reported."""
_BROKEN: Final = (OSError, EOFError, zlib.error)
_decode = msgspec.json.Decoder().decode


@dataclass(slots=True)
class Tally:
    """What was no request. first_bad: row and reason of the first line that does not parse."""

    bad: int = 0
    first_bad: tuple[int, str] = (0, "")
    without_prompt: int = 0

    def documents(self, filename: str) -> Iterator[Unreadable | NotInspected]:
        """What the linter has to say of them."""
        if self.bad:
            row, reason = self.first_bad
            yield Unreadable(filename, reason, Location(row, 1), self.bad)
        if self.without_prompt:
            yield NotInspected(filename, "no prompt in it", occurrences=self.without_prompt)

    def spoiled(self, row: int, reason: str) -> None:
        """Count a line that does not parse."""
        if not self.bad:
            self.first_bad = (row, reason)
        self.bad += 1


class Logged(NamedTuple):
    """One request of a log. row: its line, from 1. entry: what the log says of it, the body somewhere inside."""

    row: int
    body: dict[str, Any]
    entry: dict[str, Any]


def requests(filename: str, file: BinaryIO, tally: Tally) -> Iterator[Logged]:
    """Each request in a log, or in one JSON document: a body, or a list of them."""
    stream = gzip.GzipFile(fileobj=file) if filename.lower().endswith(".gz") else file
    row = 0
    try:
        for row, line in enumerate(_lines(stream), 1):
            if line is None:
                tally.spoiled(row, f"longer than {LONGEST_LINE >> 20} MB")
            elif line.strip():
                yield from _of_line(row, line, tally)
    except _BROKEN as error:
        tally.spoiled(row + 1, f"cannot be read on: {error}")


def _lines(stream: Any) -> Iterator[bytes | None]:
    """The lines; one line that is the whole file when it is a JSON document of many lines; None for one too long."""
    first = stream.readline(LONGEST_LINE + 1)
    if _starts_a_document(first):
        rest = stream.read(LONGEST_LINE + 1)
        whole = first + rest
        if len(whole) > LONGEST_LINE:
            yield None
            return
        yield from [whole] if _parse(whole) is not None else whole.splitlines()
        return
    while first:
        if len(first) > LONGEST_LINE:
            yield None
            while first and not first.endswith(b"\n"):
                first = stream.readline(LONGEST_LINE)
        else:
            yield first
        first = stream.readline(LONGEST_LINE + 1)


def _starts_a_document(line: bytes) -> bool:
    return len(line) <= LONGEST_LINE and line.lstrip()[:1] in (b"{", b"[", b"") and _parse(line) is None


def _of_line(row: int, line: bytes, tally: Tally) -> Iterator[Logged]:
    value = _parse(line)
    if value is None:
        tally.spoiled(row, "not JSON")
        return
    for item in value if isinstance(value, list) else [value]:
        body = unwrap(item, _parse_object) if isinstance(item, dict) else {}
        if has_prompt(body):
            yield Logged(row, body, item)
        else:
            tally.without_prompt += 1


def _parse_object(raw: bytes) -> dict[str, Any]:
    value = _parse(raw)
    return value if isinstance(value, dict) else {}


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
