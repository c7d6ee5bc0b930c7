"""Engines from a file: a YAML or JSON list of URLs (or a mapping with `engines`), looked at again and again.

Replace it atomically (write beside it, then rename). A file that cannot be read or is not such a list changes
nothing: the last good one stands. An empty file is taken for one that is being written; no engines is `[]`.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import yaml

from gateway.config import check_engine_url
from gateway.discovery import Endpoints
from prefix.errors import ConfigError

_log = logging.getLogger("prefixgate")


class FileSource:
    """One file. interval_s: between two looks."""

    def __init__(self, path: str, interval_s: float) -> None:
        self._path = Path(path)
        self._interval_s = interval_s

    async def watch(self) -> AsyncIterator[Endpoints]:
        """See `Source`."""
        known: dict[str, bool] | None = None
        complaint: str | None = None
        while True:
            try:
                found = await asyncio.to_thread(read_engines, self._path)
            except ConfigError as error:
                if str(error) != complaint:
                    complaint = str(error)
                    _log.warning("discovery: %s; the engines found before stay", complaint)
            else:
                complaint = None
                if found != known:
                    known = found
                    yield found
            await asyncio.sleep(self._interval_s)


def read_engines(path: Path) -> dict[str, bool]:
    """The engines a file lists. Raises ConfigError with file, line where known, and what would be right."""
    try:
        listed = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 at byte {error.start}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise ConfigError(f"{path}{f':{mark.line + 1}' if mark else ''}: not YAML") from None
    return dict.fromkeys(_urls(path, listed), True)


def _urls(path: Path, listed: Any) -> list[str]:
    if isinstance(listed, dict):
        listed = listed.get("engines")
    if not isinstance(listed, list):
        raise ConfigError(f"{path}: must be a list of URLs, such as `- http://127.0.0.1:30000`")
    try:
        return [check_engine_url(str(url)) for url in listed]
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
