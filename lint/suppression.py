"""Findings that the author of a source file has seen and wants to keep: `noqa` in a comment of any language.

`# noqa: PC101` (Python, YAML) or `{# noqa: PC101, PC201 #}` (Jinja) covers the line it stands in; `noqa` alone covers
every rule. `prefixgate: ignore-file` in a comment, with codes or without, covers the file. A code may be the
beginning of one, as in `PC1`.
"""

import re
from typing import Final, Protocol, runtime_checkable

from lint.rule import Finding

_CODES: Final = r"(?::\s*(?P<codes>[A-Z]{1,4}\d+(?:[,\s]+[A-Z]{1,4}\d+)*))?"
_LINE: Final = re.compile(rf"(?:#|//|--)\s*noqa\b{_CODES}", re.IGNORECASE)
_FILE: Final = re.compile(rf"#\s*prefixgate:\s*ignore-file\b{_CODES}")


@runtime_checkable
class Commented(Protocol):
    """A document of source text, in which comments can be written."""

    @property
    def text(self) -> str: ...


def suppressed(finding: Finding, text: str) -> bool:
    """The source says that this finding is to be kept quiet."""
    if any(_covers(found, finding.code) for found in _FILE.finditer(text)):
        return True
    lines = text.splitlines()
    row = finding.location.row if finding.location else 0
    return 0 < row <= len(lines) and any(_covers(found, finding.code) for found in _LINE.finditer(lines[row - 1]))


def _covers(comment: re.Match[str], code: str) -> bool:
    codes = comment["codes"]
    return codes is None or any(code.startswith(listed) for listed in re.split(r"[,\s]+", codes.upper()))
