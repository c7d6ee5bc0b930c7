"""A log cut into JSON values, without holding it: one a line, one a file, or the elements of one long array.

Exports come as arrays of any size, on one line as often as on many, so an array that is too long to be read whole is
cut at its elements (prefix.scan), as they come.
"""

from collections.abc import Callable, Iterator
from typing import BinaryIO, Final

from prefix.errors import BodyError
from prefix.scan import value_end

_CHUNK: Final = 1 << 20
_BETWEEN: Final = b" \t\r\n,"


def pieces(stream: BinaryIO, longest: int, is_json: Callable[[bytes], bool]) -> Iterator[tuple[int, bytes | None]]:
    """Row and bytes of each value; None for one that is longer than `longest`. is_json: whether bytes parse."""
    first = stream.readline(longest + 1)
    if len(first) > longest and first.lstrip()[:1] == b"[":
        yield from _elements(first, stream, longest)
    elif len(first) <= longest and first.lstrip()[:1] in (b"{", b"[", b"") and not is_json(first):
        yield from _document(first, stream, longest, is_json)
    else:
        yield from _lines(1, first, stream, longest)


def _document(
    first: bytes, stream: BinaryIO, longest: int, is_json: Callable[[bytes], bool]
) -> Iterator[tuple[int, bytes | None]]:
    """The first line is no JSON: the file may be one document, or its first line is broken."""
    whole = first + stream.read(longest + 1 - len(first))
    if len(whole) <= longest and is_json(whole):
        yield 1, whole
    elif whole.lstrip()[:1] == b"[" and len(whole) > longest:
        yield from _elements(whole, stream, longest)
    else:
        lines = whole.splitlines(keepends=True)
        tail = lines.pop() if len(whole) > longest else b""
        yield from enumerate(lines, 1)
        yield from _lines(len(lines) + 1, tail + stream.readline(longest + 1), stream, longest)


def _lines(row: int, line: bytes, stream: BinaryIO, longest: int) -> Iterator[tuple[int, bytes | None]]:
    while line:
        if len(line) > longest:
            yield row, None
            while line and not line.endswith(b"\n"):
                line = stream.readline(longest)
        else:
            yield row, line
        row += 1
        line = stream.readline(longest + 1)


def _elements(head: bytes, stream: BinaryIO, longest: int) -> Iterator[tuple[int, bytes | None]]:
    """The elements of an array that begins with `head`, until one is too long or what comes is no array."""
    held, at = head, head.index(b"[") + 1
    row = 1 + head.count(b"\n", 0, at)
    while True:
        while held[at : at + 1] and held[at] in _BETWEEN:
            row += held[at] == 10
            at += 1
        end = _end(held, at)
        if end is None:
            more = stream.read(max(_CHUNK, len(held) - at))
            if not more or len(held) - at > longest:
                if held[at : at + 1] not in (b"", b"]"):
                    yield row, None if more else held[at:]
                return
            held, at = held[at:] + more, 0
            continue
        yield row, held[at:end] + b"\n"
        row += held.count(b"\n", at, end)
        at = end


def _end(held: bytes, at: int) -> int | None:
    """Where the value at `at` ends; None when more is needed to tell, or none begins there."""
    if held[at : at + 1] in (b"", b"]"):
        return None
    try:
        end = value_end(held, at)
    except BodyError:
        return None
    return end if end < len(held) else None
