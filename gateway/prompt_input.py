"""A request body out of a file, for the commands that look at prompts.

One body in a file, alone or in an envelope that logs and batch files put around it; or in one line of a log, such as
a capture: `capture.jsonl:7`, gzipped or not. Whatever is wrong with the file
is one line that names it, and the byte where it is wrong.
"""

import gzip
import itertools
import re
import sys
import zlib
from pathlib import Path
from typing import Any, Final

from prefix.body import parse_body
from prefix.envelope import has_prompt, unwrap
from prefix.errors import BodyError, ConfigError

STDIN = "-"
_LINE: Final = re.compile(r"(?P<file>.+):(?P<row>[1-9][0-9]{0,9})")


def read_bytes(source: str) -> bytes:
    """The bytes of a file, of a line of one, or of standard input for "-".

    Raises ConfigError, and BodyError when there are none.
    """
    line = _LINE.fullmatch(source)
    try:
        if line is not None and not Path(source).exists():
            return _line(Path(line["file"]), int(line["row"]))
        raw = sys.stdin.buffer.read() if source == STDIN else Path(source).read_bytes()
    except OSError as error:
        raise ConfigError(f"{source}: {error.strerror or error}") from None
    if not raw.strip():
        raise BodyError("invalid_json", "empty: it must be one request body", offset=0)
    return raw


def _line(path: Path, row: int) -> bytes:
    """A line of a log, counted from 1. Raises OSError and ConfigError."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            found = next(itertools.islice(file, row - 1, None), b"")
    except (EOFError, zlib.error) as error:
        raise ConfigError(f"{path}: damaged gzip file: {error}") from None
    if not found.strip():
        raise ConfigError(f"{path}: there is nothing in line {row:,}")
    return found


def read_body(source: str) -> dict[str, Any]:
    """The parsed request body in a file, out of its envelope, checked as the gateway checks bodies.

    Raises ConfigError and BodyError.
    """
    try:
        body = unwrap(_parse(read_bytes(source)), _parse)
    except BodyError as error:
        raise named(error, source) from None
    if not has_prompt(body):
        raise BodyError(
            "missing_field", f"{shown(source)}: no prompt in it: no messages, prompt, input, text or tools"
        )
    return body


def named(error: BodyError, source: str) -> BodyError:
    """The same error, saying in which file and at which byte."""
    message = str(error)
    if error.offset is not None and "at byte" not in message:
        message += f", at byte {error.offset}"
    if "Extra data" in message:
        message += ": it must be one request body"
    return BodyError(error.code, f"{shown(source)}: {message}", pointer=error.pointer, offset=error.offset)


def shown(source: str) -> str:
    """What a file is called in a message."""
    return "standard input" if source == STDIN else source


def _parse(raw: bytes) -> dict[str, Any]:
    body = parse_body(raw)
    return {name: body.value(name) for name in body.spans}
