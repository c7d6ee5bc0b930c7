"""Files in, findings out: each file goes to the source that reads its kind, each document to the rules that judge it.

What could not be read or was not looked at becomes a document too, so that rules report it: a run in which nothing
was inspected never looks like one in which nothing was wrong. Scanned code is never imported or run.
"""

import io
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from lint.costing import Summary
from lint.documents import Linkable, NotInspected, Summarised, Unreadable
from lint.registry import rules, source_of
from lint.rule import SEVERITIES, Document, Finding, Rule
from lint.settings import Settings
from lint.sources.flow import FlowDocument
from lint.suppression import Commented, suppressed
from prefix.errors import ConfigError

STDIN: Final = "-"
_STDIN_NAME: Final = "<stdin>.jsonl"
_NO_SETTINGS: Final = Settings()
_SKIPPED: Final = frozenset("node_modules __pycache__ site-packages build dist venv".split())
_CODE: Final = frozenset(".ts .tsx .js .jsx .mjs .go .rb .java .kt .cs .php .rs .swift".split())


class Selection(NamedTuple):
    """Which rules to apply, by code, the beginning of one, or name. select: () is all."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()

    def rules(self) -> list[Rule]:
        """The rules chosen; the more specific of two selectors decides. Raises ConfigError for an unknown one."""
        chosen, ignored = (*self.select, *self.extend_select), self.ignore
        for selector in (*chosen, *ignored):
            if not any(_matches(rule, selector) for rule in rules().values()):
                raise ConfigError(f"no rule is called {selector}: `prefixgate rule` lists them")
        everything = () if self.select else ("PC",)
        return [
            rule
            for rule in rules().values()
            if _specificity(rule, (*chosen, *everything)) > _specificity(rule, ignored)
        ]


def _matches(rule: Rule, selector: str) -> bool:
    return rule.code.startswith(selector.upper()) or rule.name == selector.lower()


def _specificity(rule: Rule, selectors: Iterable[str]) -> int:
    return max((len(rule.code) if rule.name == s else len(s) for s in selectors if _matches(rule, s)), default=0)


class Report(NamedTuple):
    """findings: by file and place. inspected: how many documents were judged. summaries: of logs, replayed."""

    findings: list[Finding]
    inspected: int
    summaries: tuple[Summary, ...] = ()

    def at_least(self, severity: str) -> list[Finding]:
        """The findings of this severity or a higher one."""
        least = SEVERITIES.index(severity) if severity in SEVERITIES else len(SEVERITIES)
        return [finding for finding in self.findings if SEVERITIES.index(finding.severity) >= least]


def lint_paths(
    paths: Sequence[str], chosen: Collection[Rule], settings: Settings = _NO_SETTINGS, *, redact: bool = False
) -> Report:
    """Lint files, folders, and standard input for "-". Raises ConfigError for a path that cannot be opened."""
    report = _report(_documents(paths, settings), chosen, redact, paths)
    kept = [found for found in report.findings if not settings.ignored(found.filename, found.code, found.name)]
    return report._replace(findings=kept)


def lint_text(filename: str, text: str, chosen: Collection[Rule] | None = None) -> list[Finding]:
    """The findings in a text, linted as a file of this name."""
    documents = _read(filename, io.BytesIO(text.encode("utf-8", "surrogatepass")), _NO_SETTINGS)
    return _report(documents, rules().values() if chosen is None else chosen, False, [filename]).findings


def _report(documents: Iterable[Document], chosen: Collection[Rule], redact: bool, paths: Sequence[str]) -> Report:
    findings: list[Finding] = []
    summaries: list[Summary] = []
    inspected = 0
    for document in _linked(documents):
        inspected += not isinstance(document, (Unreadable, NotInspected))
        summaries += [document.summary] if isinstance(document, Summarised) and document.summary else []
        findings += _judge(document, chosen, redact)
    if not inspected:
        nothing = NotInspected(" ".join(paths), "nothing was inspected", nothing=True)
        findings += _judge(nothing, chosen, redact)
    return Report(sorted(_once(findings), key=_order), inspected, tuple(summaries))


def _linked(documents: Iterable[Document]) -> Iterator[Document]:
    """The documents, logs behind all source, so that what is found in them is linked to it."""
    later: list[Linkable] = []
    origins: list[FlowDocument] = []
    for document in documents:
        if isinstance(document, Linkable):
            later.append(document)
            continue
        if isinstance(document, FlowDocument):
            origins.append(document)
        yield document
    for log in later:
        yield log.linked(origins)


def _once(findings: Iterable[Finding]) -> list[Finding]:
    """Each cause once: what traffic shows and is linked to a place in the source stands for what is said of that."""
    known = list(findings)
    linked = {(place.filename, place.location) for finding in known for place in finding.related}
    return [finding for finding in known if (finding.filename, finding.location) not in linked]


def _judge(document: Document, chosen: Collection[Rule], redact: bool) -> Iterator[Finding]:
    text = document.text if isinstance(document, Commented) else ""
    for rule in chosen:
        for finding in rule.check(document, redact=redact):
            if not (text and suppressed(finding, text)):
                yield finding


def _order(finding: Finding) -> tuple[str, int, int, str, int]:
    row = finding.location.row if finding.location else 0
    column = finding.location.column if finding.location else 0
    return finding.filename, row, column, finding.code, finding.start or 0


def _documents(paths: Sequence[str], settings: Settings) -> Iterator[Document]:
    for path in paths:
        if path == STDIN:
            yield from _read(_STDIN_NAME, sys.stdin.buffer, settings)
        elif Path(path).is_dir():
            yield from _folder(Path(path), settings)
        else:
            yield from _file(path, settings)


def _folder(folder: Path, settings: Settings) -> Iterator[Document]:
    foreign: Counter[str] = Counter()
    for file in sorted(_files(folder)):
        if settings.excluded(str(file)):
            continue
        if source_of(file.name):
            yield from _file(str(file), settings)
        elif file.suffix.lower() in _CODE:
            foreign[file.suffix.lower()] += 1
    if foreign:
        kinds = ", ".join(f"{suffix} {count}" for suffix, count in foreign.most_common())
        yield NotInspected(str(folder), f"languages that are not read: {kinds}", foreign.total())


def _files(folder: Path) -> Iterator[Path]:
    for entry in folder.iterdir():
        if entry.name.startswith(".") or entry.name in _SKIPPED or entry.is_symlink():
            continue
        if entry.is_dir():
            yield from _files(entry)
        elif entry.is_file():
            yield entry


def _file(name: str, settings: Settings) -> Iterator[Document]:
    try:
        with Path(name).open("rb") as file:
            yield from _read(name, file, settings)
    except OSError as error:
        raise ConfigError(f"{name}: {error.strerror or error}") from None


def _read(name: str, file: BinaryIO, settings: Settings) -> Iterator[Document]:
    source = source_of(name)
    if source is None:
        yield NotInspected(name, f"files that end in {Path(name).suffix or 'nothing'} are not read")
    else:
        for document in source.read(name, file):
            yield source.price(document, file, settings.costing) if source.price else document
