"""Source files as text and back: encoding, byte order mark, line ends and mode stay as they were."""

import io
import os
import tempfile
import tokenize
from pathlib import Path, PurePath
from typing import Final, NamedTuple

from prefix.errors import ConfigError

_BOM: Final = b"\xef\xbb\xbf"


class SourceText(NamedTuple):
    """raw: what was read. text: what edits apply to (a byte order mark is part of it only in plain prompts, where it
    reaches the model)."""

    filename: str
    raw: bytes
    text: str
    encoding: str

    def encoded(self, text: str) -> bytes:
        """Another text as this file would hold it."""
        return text.encode(self.encoding, "strict")


def read(filename: str) -> bytes:
    """The content of a file that was linted just now. Raises ConfigError when it cannot be read any more."""
    try:
        return Path(filename).read_bytes()
    except OSError as error:
        raise ConfigError(f"{filename}: {error.strerror or error}") from None


def decoded(filename: str, raw: bytes) -> SourceText | None:
    """The text of a file, None when it has no known encoding."""
    try:
        encoding = _encoding(filename, raw)
        return SourceText(filename, raw, raw.decode(encoding), encoding)
    except (UnicodeDecodeError, SyntaxError, LookupError):
        return None


def _encoding(filename: str, raw: bytes) -> str:
    suffix = PurePath(filename).suffix.lower()
    if suffix in (".py", ".pyi"):
        return tokenize.detect_encoding(io.BytesIO(raw).readline)[0]
    return "utf-8-sig" if raw.startswith(_BOM) and suffix not in (".txt", ".prompt") else "utf-8"


def replace(source: SourceText, text: str) -> None:
    """Write a file anew, all or nothing. Raises ConfigError when it cannot be, or has changed since it was read."""
    path = Path(source.filename).resolve()
    try:
        if path.read_bytes() != source.raw:
            raise ConfigError(f"{source.filename}: it was changed meanwhile, so it was not fixed; run again")
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            new = Path(file.name)
            file.write(source.encoded(text))
            os.fchmod(file.fileno(), path.stat().st_mode & 0o7777)
    except OSError as error:
        raise ConfigError(f"{source.filename}: cannot be written: {error.strerror or error}") from None
    try:
        new.replace(path)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise ConfigError(f"{source.filename}: cannot be written: {error.strerror or error}") from None
