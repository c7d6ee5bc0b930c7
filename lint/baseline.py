"""A baseline: the findings that were there when the linter was adopted. Only what is new counts.

The file is JSON, one finding a line, in a fixed order, so that it is reviewed like code.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lint.bounded import read_bounded
from lint.fingerprint import fingerprints, relative
from lint.rule import Finding
from prefix.errors import ConfigError

_VERSION = 1
_LARGEST = 64 << 20


class Compared(NamedTuple):
    """new: findings that are not in the baseline. known: how many are. gone: how many of it were not found again."""

    new: list[Finding]
    known: int
    gone: int


def compare(findings: Sequence[Finding], file: Path) -> Compared:
    """What is new since a baseline. Raises ConfigError when it cannot be read."""
    held = _read(file)
    named = fingerprints(findings, file.absolute().parent)
    new = [finding for finding, name in zip(findings, named, strict=True) if name not in held]
    found = held & set(named)
    return Compared(new, len(found), len(held) - len(found))


def write(findings: Sequence[Finding], file: Path) -> None:
    """Make these findings the baseline. Raises ConfigError when it cannot be written."""
    root = file.absolute().parent
    entries = sorted(
        (relative(finding.filename, root), finding.code, name)
        for finding, name in zip(findings, fingerprints(findings, root), strict=True)
    )
    lines = [json.dumps({"file": name, "code": code, "fingerprint": mark}) for name, code, mark in entries]
    listed = ",\n  ".join(lines)
    text = f'{{"version": {_VERSION}, "findings": [\n  {listed}\n]}}\n'
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{file}: cannot be written: {error.strerror or error}") from None


def _read(file: Path) -> set[str]:
    if not file.exists():
        raise ConfigError(f"{file}: there is no such baseline; --write-baseline makes one")
    try:
        content: Any = json.loads(read_bounded(file, _LARGEST))
        if content["version"] != _VERSION:
            raise ConfigError(f"{file}: a baseline of version {content['version']}, {_VERSION} is known")
        return {entry["fingerprint"] for entry in content["findings"]}
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ConfigError(f"{file}: no baseline; --write-baseline makes one") from None
