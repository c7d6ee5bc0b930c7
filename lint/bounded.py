"""Reads files that a project names: regular ones, up to a size. A project may be hostile, and name a device."""

from pathlib import Path

from prefix.errors import ConfigError


def read_bounded(file: Path, most: int) -> str:
    """The text of a file. most: bytes. Raises ConfigError, with the reason."""
    try:
        if file.exists() and not file.is_file():
            raise ConfigError(f"{file}: no regular file")
        with file.open("rb") as opened:
            raw = opened.read(most + 1)
        if len(raw) > most:
            raise ConfigError(f"{file}: larger than {most:,} bytes")
        return raw.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: {error}") from None
