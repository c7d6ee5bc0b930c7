"""The files of a folder of captures: appended to by one writer, full ones compressed, the oldest deleted.

A writer begins files of its own, named by when it did, and never appends to another one's; so a crash costs the line
that was being written and no other, and processes may share a folder. A write that fails is taken back: half a line
stays only where even that fails, and readers pass over it. Files are 0600, a folder that is made here 0700.
"""

import gzip
import os
import secrets
import shutil
import tempfile
from contextlib import suppress
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from typing import Final

from prefix.errors import ConfigError

_PREFIX: Final = "capture-"
_PACKED_AT_ONCE: Final = 64 << 10


class CaptureFiles:
    """Writes lines. max_files: with the one that is written. Raises ConfigError when the folder cannot be used."""

    def __init__(self, folder: Path, max_file_bytes: int, max_files: int) -> None:
        self._folder = folder
        self._most, self._files = max_file_bytes, max_files
        self._writer = secrets.token_hex(4)
        self._begun = 0
        self._file: FileIO | None = None
        self._path = folder
        self._size = 0
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:
            raise ConfigError(f"capture: folder {folder}: {error.strerror}") from None

    def write(self, line: bytes, when: float) -> None:
        """Append a line, given without its end. when: seconds since the epoch, for the name of a new file.

        Raises OSError: then nothing of it is in the file.
        """
        data = line + b"\n"
        if self._file is not None and not os.fstat(self._file.fileno()).st_nlink:
            self.close()  # somebody deleted it
        if self._file is not None and self._size + len(data) > self._most:
            self.close()
            _pack(self._path)
        file = self._file or self._begin(when)
        try:
            _write_all(file, data)
        except OSError:
            with suppress(OSError):
                file.truncate(self._size)
            raise
        self._size += len(data)

    def close(self) -> None:
        """End the file; the next line begins another one."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _begin(self, when: float) -> FileIO:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._prune()
        self._begun += 1
        stamp = datetime.fromtimestamp(when, UTC).strftime("%Y%m%dT%H%M%S")
        self._path = self._folder / f"{_PREFIX}{stamp}-{self._writer}-{self._begun:06}.jsonl"
        self._file, self._size = _created(self._path), 0
        return self._file

    def _prune(self) -> None:
        """Delete the oldest, so that one more is not too many."""
        held = sorted(self._folder.glob(f"{_PREFIX}*"))
        for old in held[: max(0, len(held) + 1 - self._files)]:
            old.unlink(missing_ok=True)


def _created(path: Path) -> FileIO:
    """A file that is not there yet, for its owner alone. Nothing is held back in a buffer."""
    return FileIO(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600), "wb")


def _write_all(file: FileIO, data: bytes) -> None:
    while data:
        data = data[file.write(data) :]


def _pack(path: Path) -> None:
    """The file compressed, in its place; left as it is where there is no room for that. zlib lets threads run."""
    packed, part = path.with_name(path.name + ".gz"), path.with_name(path.name + ".gz.part")
    try:
        with path.open("rb") as plain, _created(part) as out, gzip.open(out, "wb", 6) as zipped:
            shutil.copyfileobj(plain, zipped, _PACKED_AT_ONCE)
        part.replace(packed)
        path.unlink()
    except OSError:
        part.unlink(missing_ok=True)
