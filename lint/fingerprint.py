"""What a finding is known by from run to run: not its row, which moves, but its rule, file, and the line it is about.

A second finding with the same line in the same file counts on. In traffic, whose lines come and go, the place in the
request stands for the line.
"""

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from lint.rule import Finding

_LARGEST: Final = 8 << 20
_DIGITS: Final = re.compile(r"\d[\d,.:]*")


def fingerprints(findings: Iterable[Finding], root: Path | None = None) -> list[str]:
    """One per finding, all different. root: what file names are relative to, None is the current folder."""
    lines: list[str] = []
    of: str | None = None
    seen: Counter[str] = Counter()
    found: list[str] = []
    for finding in findings:
        if finding.filename != of:
            of, lines = finding.filename, _lines(finding.filename)
        what = "\0".join((finding.code, relative(finding.filename, root), _context(finding, lines)))
        seen[what] += 1
        found.append(hashlib.sha256(f"{what}\0{seen[what]}".encode("utf-8", "surrogatepass")).hexdigest()[:32])
    return found


def relative(filename: str, root: Path | None = None) -> str:
    """A file's name as seen from a folder, with slashes; a file outside of it keeps its name."""
    base = (root or Path.cwd()).absolute()
    path = Path(os.path.normpath(Path(filename).absolute()))
    return shown(path.relative_to(base).as_posix() if path.is_relative_to(base) else path.as_posix())


def shown(filename: str) -> str:
    """A file's name as text that can be encoded, whatever bytes it is made of."""
    return filename.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _context(finding: Finding, lines: list[str]) -> str:
    if finding.pointer is not None:
        return finding.pointer
    row = finding.location.row if finding.location else 0
    if 0 < row <= len(lines):
        return " ".join(lines[row - 1].split())
    return _DIGITS.sub("", finding.message)


def _lines(filename: str) -> list[str]:
    """The lines of a source file; nothing for logs, which may be of any size."""
    path = Path(filename)
    if not path.is_file() or path.stat().st_size > _LARGEST or ".json" in path.name or ".ndjson" in path.name:
        return []
    try:
        return re.split(r"\r\n|\r|\n", path.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return []
