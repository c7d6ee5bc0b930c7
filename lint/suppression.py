"""Findings that the author of a source file has seen and wants to keep, said in comments of its language.

    now()  # noqa: PC101                        this line (of a string of many lines, behind its last one)
    # prefixgate: ignore-next-line: PC101       the next line
    # prefixgate: disable: PC1 … enable: PC1    the lines between; without `enable`, to the end of the file
    # prefixgate: ignore-file: PC101            the file, wherever the comment stands

Without codes each stands for all rules; a code may be the beginning of one. In Jinja it is `{# noqa: PC101 #}`; in
YAML a comment behind `key: |` stands for the whole block. One that suppresses nothing is a finding itself (PC002).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from lint.registry import rules
from lint.rule import Document, Finding

if TYPE_CHECKING:
    from lint.comments import Comment

_CODES: Final = r"(?:\s*[:=]\s*(?P<codes>[A-Z]{1,4}\d+(?:(?:\s*,\s*|\s+)[A-Z]{1,4}\d+)*))?"
_DIRECTIVE: Final = re.compile(
    rf"(?:noqa\b|prefixgate:\s*(?P<verb>ignore-file|ignore-next-line|ignore|disable|enable)\b){_CODES}", re.IGNORECASE
)
_OURS: Final = re.compile(r"prefixgate:|\bPC\d", re.IGNORECASE)
_OPENS: Final = re.compile(r"(?:\{?#[-+]?\s*)")
_LAST_ROW: Final = 1 << 62


class Directive(NamedTuple):
    """One comment. start, end: of its words in the text. codes: (), all rules. first, last: the rows it covers."""

    comment: Comment
    start: int
    end: int
    verb: str
    codes: tuple[str, ...]
    first: int
    last: int

    def covers(self, finding: Finding) -> str | None:
        """The code by which it suppresses a finding ("" for all codes), None when it does not."""
        row = finding.location.row if finding.location else 0
        if not self.first <= row <= self.last:
            return None
        return next((code for code in self.codes if finding.code.startswith(code)), None if self.codes else "")


class Unused(NamedTuple):
    """A document for PC002: what in one comment suppressed nothing. codes: (), the whole of it."""

    directive: Directive
    codes: tuple[str, ...]


class UnusedSuppressions(NamedTuple):
    """The comments of a file that suppressed nothing."""

    filename: str
    source: str
    unused: tuple[Unused, ...]


class Suppressions:
    """The comments of one document, and which of them were of use. They are read when there is something to suppress,
    or something of ours that may be unused: most comments are for other linters, in files without a finding."""

    def __init__(self, filename: str, text: str) -> None:
        self._filename = filename
        self._text = text
        self._used: set[tuple[int, str]] = set()

    @cached_property
    def _directives(self) -> list[Directive]:
        return directives(self._filename, self._text)

    def covers(self, finding: Finding) -> bool:
        """Whether a finding is suppressed; what suppresses it is noted as used."""
        by = [(at, directive.covers(finding)) for at, directive in enumerate(self._directives)]
        found = [(at, code) for at, code in by if code is not None]
        self._used.update(found)
        return bool(found)

    def unused(self, judged: Iterable[str]) -> UnusedSuppressions | None:
        """What was of no use, for PC002. judged: codes of the rules that were applied; nothing is known of others,
        and codes of other linters and a bare `noqa` are not ours to judge."""
        if not _OURS.search(self._text):
            return None
        applied = set(judged)
        found: list[Unused] = []
        for at, directive in enumerate(self._directives):
            ours = tuple(code for code in directive.codes if code.startswith("PC") and _judged(code, applied))
            idle = tuple(code for code in ours if (at, code) not in self._used)
            bare = not directive.codes and directive.verb != "noqa" and (at, "") not in self._used
            if idle or (bare and applied >= set(rules())):
                found.append(Unused(directive, idle))
        if not found:
            return None
        return UnusedSuppressions(self._filename, self._text, tuple(found))


def _judged(code: str, applied: set[str]) -> bool:
    """Whether all rules that a code stands for were applied; of one that stands for none it is known already."""
    return code != "PC002" and {known for known in rules() if known.startswith(code)} <= applied


def suppressions_of(document: Document) -> Suppressions | None:
    """Those of a document of source text that has any."""
    text = getattr(document, "text", None)
    return Suppressions(document.filename, text) if isinstance(text, str) and _DIRECTIVE.search(text) else None


def directives(filename: str, text: str) -> list[Directive]:
    """What the comments of a file say, `disable` with the rows up to its `enable`."""
    if not _DIRECTIVE.search(text):
        return []
    from lint.comments import comments

    found = [directive for comment in comments(filename, text) for directive in _in(comment, text)]
    return [_up_to_its_end(d, found) if d.verb == "disable" else d for d in found if d.verb != "enable"]


def _in(comment: Comment, text: str) -> Iterator[Directive]:
    """The directive of a comment; like other linters', it has to begin the comment or a part behind a further `#`."""
    for match in _DIRECTIVE.finditer(text, comment.start, comment.end):
        if _OPENS.fullmatch(text[text.rfind("#", comment.start, match.start()) : match.start()].lstrip("{")):
            codes = tuple(re.split(r"[,\s]+", match["codes"].upper())) if match["codes"] else ()
            verb = (match["verb"] or "noqa").lower()
            yield Directive(comment, match.start(), match.end(), verb, codes, *_rows(comment, verb))


def _rows(comment: Comment, verb: str) -> tuple[int, int]:
    if verb == "ignore-file":
        return 0, _LAST_ROW
    if verb == "ignore-next-line":
        return comment.last + 1, comment.last + 1
    return (comment.last, _LAST_ROW) if verb in ("disable", "enable") else (comment.first, comment.last)


def _up_to_its_end(opened: Directive, found: list[Directive]) -> Directive:
    ends = (
        other.first
        for other in found
        if other.verb == "enable" and other.first > opened.first and (not other.codes or other.codes == opened.codes)
    )
    return opened._replace(last=min(ends, default=_LAST_ROW))
