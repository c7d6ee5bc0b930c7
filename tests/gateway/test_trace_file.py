"""gateway.trace_file: traces on disk, and the one that ships."""

import gzip
from pathlib import Path

import pytest

from gateway.trace_file import BUNDLED_BLOCK_TOKENS, BUNDLED_TRACE, read_trace, sift_trace_file
from prefix.errors import TraceError
from prefix.trace import TraceRequest, arrival_seconds, prompt_blocks

LINE = b'{"timestamp":0,"input_length":5,"output_length":1,"hash_ids":[1]}\n'


@pytest.mark.parametrize("data", [LINE * 2, gzip.compress(LINE * 2, mtime=0), LINE + b"\n" + LINE.rstrip()])
def test_read(tmp_path: Path, data: bytes) -> None:
    """Plain and compressed traces read alike, whatever their name."""
    path = tmp_path / "trace"
    path.write_bytes(data)
    assert read_trace(path) == [TraceRequest(0, 5, 1, (1,))] * 2


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "trace.gz: holds no request"),
        (b"\n\n", "trace.gz: holds no request"),
        (LINE + b"oops\n", "trace.gz:2: not a trace request"),
        (gzip.compress(LINE, mtime=0)[:-9], "trace.gz: damaged gzip file"),
        (gzip.compress(LINE, mtime=0)[:12] + b"\xff" * 20, "trace.gz: damaged gzip file"),
        (gzip.compress(LINE, mtime=0) + b"tail", "trace.gz: damaged gzip file"),
    ],
)
def test_bad_files(tmp_path: Path, data: bytes, said: str) -> None:
    """Damaged and empty files are named errors that name the file."""
    path = tmp_path / "trace.gz"
    path.write_bytes(data)
    with pytest.raises(TraceError, match=said):
        read_trace(path)


def test_sift(tmp_path: Path) -> None:
    """Bad lines are told one by one; a file without any line is an error of its own."""
    path = tmp_path / "trace.gz"
    path.write_bytes(gzip.compress(b"oops\n" + LINE + b"{}\n", mtime=0))
    requests, errors = sift_trace_file(path)
    assert requests == [TraceRequest(0, 5, 1, (1,))]
    assert [str(error).split(": ")[0] for error in errors] == [f"{path}:1", f"{path}:3"]
    path.write_bytes(b"\n")
    with pytest.raises(TraceError, match="holds no request"):
        sift_trace_file(path)


def test_unreadable(tmp_path: Path) -> None:
    """A path that is missing, or a folder, is a named error with the system's reason."""
    with pytest.raises(TraceError, match=r"nothing: cannot be read: No such file"):
        read_trace(tmp_path / "nothing")
    with pytest.raises(TraceError, match="cannot be read: Is a directory"):
        read_trace(tmp_path)


def test_bundled_trace() -> None:
    """The shipped slice is small, whole, in order and of the stated block size."""
    trace = read_trace(BUNDLED_TRACE)
    assert BUNDLED_TRACE.stat().st_size <= 1_000_000
    assert len(trace) == 3010
    assert arrival_seconds(trace)[-1] > 3500
    for request in trace:
        prompt_blocks(request, block_tokens=BUNDLED_BLOCK_TOKENS, unique="", shrink=512)
