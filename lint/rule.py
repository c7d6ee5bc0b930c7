"""What a rule is and what it finds.

A rule is data: its code, its documentation, examples that are its tests, and one check per kind of document it can
judge. A check looks at one document and yields sightings; the rule makes findings of them. So everything about a rule
is in one file of lint/rules, and a document kind that a rule has no check for is never guessed at.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar, runtime_checkable

import msgspec

from lint.costing import Cost
from prefix.realign import common_prefix

Severity = Literal["info", "warning", "error"]
SEVERITIES: tuple[Severity, ...] = ("info", "warning", "error")
"""From the least to the most severe."""
Applicability = Literal["safe", "unsafe", "display"]

DOCS_URL = "https://github.com/prefixgate/prefixgate/blob/main/docs/rules"
_LONGEST_VALUE = 80
_SAME = 20


class Document(Protocol):
    """What a source makes of a file. filename: as it is shown."""

    @property
    def filename(self) -> str: ...


@runtime_checkable
class Telling(Protocol):
    """A document of which more may be known, or not."""

    @property
    def tells(self) -> frozenset[str]:
        """What it tells: a log for example times, or answers."""
        ...


class Location(msgspec.Struct, frozen=True):
    """A place in a file. row and column: from 1; columns in code points."""

    row: int
    column: int


class Related(msgspec.Struct, frozen=True):
    """A place that makes what was found elsewhere. label: what stands there."""

    filename: str
    location: Location
    label: str


class Edit(msgspec.Struct, frozen=True):
    """Code points `start` to `end` (exclusive) of the file become `content`."""

    start: int
    end: int
    content: str


class Fix(msgspec.Struct, frozen=True):
    """Edits that mend it. applicability: `safe` keeps the meaning, `unsafe` may change it, `display` only shows."""

    applicability: Applicability
    edits: tuple[Edit, ...]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One cause, in the fields and the order of `--output-format json`.

    request: index from 0 of the first request that shows it. pointer: JSON pointer into that request; start, end:
    code points of the text there, or of the file when there is no pointer. occurrences: how many requests or places.
    recoverable_tokens: what all of them together would have had cached without it, None when that is not known.
    cost: what mending it is worth, replayed; None where there is no traffic to replay. related: for what was found
    in traffic, the place in the source that makes it.
    """

    code: str
    name: str
    severity: Severity
    message: str
    filename: str
    location: Location | None
    request: int | None
    pointer: str | None
    start: int | None
    end: int | None
    occurrences: int
    recoverable_tokens: int | None
    fix: Fix | None
    url: str
    cost: Cost | None = None
    related: tuple[Related, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """What a check saw: a finding without what the rule and the document know.

    message: without prompt text, which goes into values (what stands there in one request and in another, or one
    value alone), so that it can be hidden. severity: None is the rule's own.
    """

    message: str
    values: tuple[str | None, ...] = ()
    severity: Severity | None = None
    location: Location | None = None
    request: int | None = None
    pointer: str | None = None
    start: int | None = None
    end: int | None = None
    occurrences: int = 1
    recoverable_tokens: int | None = None
    fix: Fix | None = None
    cost: Cost | None = None
    related: tuple[Related, ...] = ()


D = TypeVar("D", bound=Document)


@dataclass(frozen=True, slots=True)
class Check(Generic[D]):
    """Judges one kind of document. document: its class (subclasses too). find: what it sees in one. needs: what the
    document must tell (see Telling); of one that does not the check says nothing."""

    document: type[D]
    find: Callable[[D], Iterable[Sighting]]
    needs: tuple[str, ...] = ()

    def lacks(self, document: Document) -> tuple[str, ...]:
        """What it needs and this document does not tell."""
        if not self.needs:
            return ()
        tells = document.tells if isinstance(document, Telling) else frozenset()
        return tuple(need for need in self.needs if need not in tells)


class Example(NamedTuple):
    """An input that is linted as if it were in a file of this name."""

    filename: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule.

    code: PC and three digits, stable for ever. name: kebab-case, that of its module. severity: the default; in
    traffic what it costs may lower it. summary: one line. why, instead: Markdown paragraphs (why it breaks the cache,
    what to do). since: first version. bad, good: examples with and without a finding. checks: one per document kind.
    """

    code: str
    name: str
    severity: Severity
    summary: str
    why: str
    instead: str
    since: str
    checks: tuple[Check[Any], ...]
    bad: tuple[Example, ...] = field(repr=False)
    good: tuple[Example, ...] = field(repr=False)
    fix: Applicability | None = None
    gateway: str = ""

    @property
    def url(self) -> str:
        """Where its documentation is."""
        return f"{DOCS_URL}/{self.name}.md"

    @property
    def judges(self) -> tuple[str, ...]:
        """The kinds of documents it has a check for."""
        return tuple(check.document.__name__ for check in self.checks)

    @property
    def needs(self) -> tuple[str, ...]:
        """What a document must tell for the rule to say anything: what all of its checks need."""
        return tuple(need for need in self.checks[0].needs if all(need in check.needs for check in self.checks))

    def can_judge(self, document: Document) -> bool:
        """Whether it has a check for this document, and the document tells what that needs."""
        return any(isinstance(document, check.document) and not check.lacks(document) for check in self.checks)

    def check(self, document: Document, *, redact: bool = False) -> Iterator[Finding]:
        """The findings in one document; none when the rule cannot judge its kind. redact: no prompt text in them."""
        for check in self.checks:
            if isinstance(document, check.document) and not check.lacks(document):
                for sighting in check.find(document):
                    yield self._finding(document, sighting, redact)

    def _finding(self, document: Document, seen: Sighting, redact: bool) -> Finding:
        return Finding(
            code=self.code,
            name=self.name,
            severity=seen.severity or self.severity,
            message=seen.message + _shown(seen.values, redact),
            filename=document.filename,
            location=seen.location,
            request=seen.request,
            pointer=seen.pointer,
            start=seen.start,
            end=seen.end,
            occurrences=seen.occurrences,
            recoverable_tokens=seen.recoverable_tokens,
            fix=None if redact else seen.fix,
            url=self.url,
            cost=seen.cost,
            related=seen.related,
        )


def _shown(values: tuple[str | None, ...], redact: bool) -> str:
    """The values, long ones from shortly before the place where they part."""
    if not values:
        return ""
    texts = [value for value in values if value is not None]
    same = common_prefix(texts[0], texts[1]) if len(texts) > 1 else 0
    start = max(0, same - _SAME) if max(map(len, texts), default=0) > _LONGEST_VALUE else 0
    return ": " + " -> ".join("(nothing)" if value is None else _value(value, start, redact) for value in values)


def _value(value: str, start: int, redact: bool) -> str:
    if redact:
        return f"[{len(value)} characters]"
    end = start + _LONGEST_VALUE
    return ("…" if start else "") + f"'{visible(value[start:end])}'" + ("…" if len(value) > end else "")


def visible(text: str) -> str:
    """Control characters and others that cannot be seen as escapes, line ends too."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
