"""Traces on disk: JSON lines, plain or gzip (told by the file's first bytes, not by its name)."""

import gzip
import zlib
from pathlib import Path
from typing import Final

from prefix.errors import TraceError
from prefix.trace import TraceRequest, parse_trace, sift_trace

BUNDLED_TRACE: Final = Path(__file__).with_name("data") / "mooncake_conversation_slice.jsonl.gz"
"""One in four conversations of Mooncake's conversation trace (see `data/README.md`)."""

BUNDLED_BLOCK_TOKENS: Final = 512

_GZIP_MAGIC: Final = b"\x1f\x8b"


def read_trace(path: Path) -> list[TraceRequest]:
    """Every request of the trace at `path`, in the file's order.

    Raises TraceError, naming the file, when it cannot be read, is damaged, holds no request, or (with the line)
    when a line is not a request.
    """
    requests = list(parse_trace(read_packed(path).splitlines(), str(path)))
    if not requests:
        raise TraceError(f"{path}: holds no request")
    return requests


def sift_trace_file(path: Path) -> tuple[list[TraceRequest], list[TraceError]]:
    """Every request of the trace at `path`, and an error for each line that is none.

    Raises TraceError, naming the file, when it cannot be read, is damaged, or has no request and no error.
    """
    requests, errors = sift_trace(read_packed(path).splitlines(), str(path))
    if not (requests or errors):
        raise TraceError(f"{path}: holds no request")
    return requests, errors


def read_packed(path: Path) -> bytes:
    """The file, unpacked where it is gzip. Raises TraceError, naming the file."""
    try:
        raw = path.read_bytes()
        return gzip.decompress(raw) if raw.startswith(_GZIP_MAGIC) else raw
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise TraceError(f"{path}: damaged gzip file: {error}") from None
    except OSError as error:
        raise TraceError(f"{path}: cannot be read: {error.strerror}") from None
