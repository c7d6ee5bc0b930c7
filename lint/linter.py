"""Files in, findings out: each file goes to the source that reads its kind, each document to the rules that judge it.

What could not be read or was not looked at becomes a document too, so that rules report it: a run in which nothing
was inspected never looks like one in which nothing was wrong. Scanned code is never imported or run.
"""

import io
import os
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from lint.costing import Costing, Summary
from lint.documents import NotInspected, Summarised, Unreadable
from lint.links import each_once, linked
from lint.nearest import SettingsFor
from lint.registry import rules, source_of
from lint.rule import SEVERITIES, Document, Finding, Rule
from lint.selection import Selection
from lint.settings import Settings
from lint.suppression import suppressions_of
from lint.walk import files_below
from prefix.errors import ConfigError

__all__ = ["Linter", "Report", "Selection", "lint_paths", "lint_text"]
STDIN: Final = "-"
NOT_INSPECTED: Final = "PC003"
_STDIN_NAME: Final = "<stdin>.jsonl"
_NO_SETTINGS: Final = Settings()
_CODE: Final = frozenset(".ts .tsx .js .jsx .mjs .go .rb .java .kt .cs .php .rs .swift".split())


class Report(NamedTuple):
    """findings: by file and place. inspected: how many documents were judged. summaries: of logs, replayed."""

    findings: list[Finding]
    inspected: int
    summaries: tuple[Summary, ...] = ()

    def at_least(self, severity: str) -> list[Finding]:
        """The findings of this severity or a higher one."""
        least = SEVERITIES.index(severity) if severity in SEVERITIES else len(SEVERITIES)
        return [finding for finding in self.findings if SEVERITIES.index(finding.severity) >= least]


class Linter:
    """Judges files by the settings for each. chosen: these rules, whatever the settings select. redact: findings hold
    no text of prompts. stdin: the name of a file that "-" stands for, and its content; None is a log, read as it
    comes. hook: the paths were chosen by a program, so named files are excluded like those below folders, and having
    nothing to look at is no finding. costing: how the losses of
    logs are replayed and priced, whatever the settings say."""

    def __init__(
        self,
        settings_for: SettingsFor,
        chosen: Collection[Rule] | None = None,
        *,
        redact: bool = False,
        stdin: tuple[str, BinaryIO] | None = None,
        hook: bool = False,
        costing: Costing | None = None,
    ) -> None:
        self._settings_for = settings_for
        self._chosen = chosen
        self._redact = redact
        self._stdin = stdin
        self._hook = hook
        self._costing = costing

    def paths(self, paths: Sequence[str]) -> Report:
        """Lint files, folders, and standard input for "-". Raises ConfigError for a path that cannot be opened."""
        findings: list[Finding] = []
        summaries: list[Summary] = []
        inspected = 0
        for document in linked(self._documents(paths)):
            read = not isinstance(document, (Unreadable, NotInspected))
            inspected += read and any(rule.can_judge(document) for rule in self._rules(document))
            summaries += [document.summary] if isinstance(document, Summarised) and document.summary else []
            findings += self.judge(document)
        if not inspected and not self._hook:
            nothing = NotInspected(" ".join(paths), "nothing was inspected", nothing=True)
            nothing = nothing._replace(reason=nothing.reason + _needs(self._rules(nothing)))
            if self._chosen is not None or not self._settings_for(Path()).selection.ignores(NOT_INSPECTED):
                findings += rules()[NOT_INSPECTED].check(nothing, redact=self._redact)
        return Report(sorted(each_once(findings), key=_order), inspected, tuple(summaries))

    def text(self, filename: str, raw: bytes) -> list[Finding]:
        """The findings in the content of one file."""
        findings = [found for document in self._read(filename, io.BytesIO(raw)) for found in self.judge(document)]
        return sorted(findings, key=_order)

    def judge(self, document: Document) -> Iterator[Finding]:
        """The findings in one document, less those that settings or comments keep quiet."""
        settings = self._settings_for(Path(document.filename).parent)
        chosen = self._rules(document)
        quiet = suppressions_of(document)
        for rule in chosen:
            if settings.per_file_ignores and settings.ignored(document.filename, rule.code, rule.name):
                continue
            for finding in rule.check(document, redact=self._redact):
                if not (quiet and quiet.covers(finding)):
                    yield finding
        if quiet and (left := quiet.unused(rule.code for rule in chosen)):
            yield from self.judge(left)

    def _costing_of(self, name: str) -> Costing:
        return self._settings_for(Path(name).parent).costing if self._costing is None else self._costing

    def _rules(self, document: Document) -> Collection[Rule]:
        if self._chosen is not None:
            return self._chosen
        return self._settings_for(Path(document.filename).parent).selection.rules()

    def _documents(self, paths: Sequence[str]) -> Iterator[Document]:
        seen: set[str] = set()
        for path in dict.fromkeys(paths):
            if path == STDIN:
                yield from self._read(*(self._stdin or (_STDIN_NAME, sys.stdin.buffer)))
            elif Path(path).is_dir():
                yield from self._folder(Path(path), seen)
            elif _first_time(path, seen) and not (self._hook and self._excluded(Path(path))):
                yield from self._file(path)

    def _excluded(self, file: Path) -> bool:
        return self._settings_for(file.parent).excluded(str(file))

    def _folder(self, folder: Path, seen: set[str]) -> Iterator[Document]:
        foreign: Counter[str] = Counter()
        unreadable: list[tuple[str, str]] = []
        respect = self._settings_for(folder).respect_gitignore
        for file in files_below(folder, respect_gitignore=respect, unreadable=unreadable):
            suffix = file.suffix.lower()
            known = source_of(file.name) is not None
            if (known or suffix in _CODE) and not self._excluded(file):
                if not _first_time(str(file), seen):
                    continue
                if known:
                    yield from self._found(str(file))
                else:
                    foreign[suffix] += 1
        for name, reason in unreadable:
            yield Unreadable(name, reason)
        if foreign:
            kinds = ", ".join(f"{suffix} {count}" for suffix, count in foreign.most_common())
            yield NotInspected(str(folder), f"languages that are not read: {kinds}", foreign.total())

    def _found(self, name: str) -> Iterator[Document]:
        """The documents of a file that was found in a folder: one that is gone or locked does not end the run."""
        try:
            with Path(name).open("rb") as file:
                yield from self._read(name, file)
        except OSError as error:
            yield Unreadable(name, error.strerror or str(error))

    def _file(self, name: str) -> Iterator[Document]:
        """The documents of a file that was asked for."""
        path = Path(name)
        if path.exists() and not path.is_file():
            yield NotInspected(name, "no regular file")
            return
        try:
            with path.open("rb") as file:
                yield from self._read(name, file)
        except OSError as error:
            raise ConfigError(f"{name}: {error.strerror or error}") from None

    def _read(self, name: str, file: BinaryIO) -> Iterator[Document]:
        source = source_of(name)
        if source is None:
            yield NotInspected(name, f"files that end in {Path(name).suffix or 'nothing'} are not read")
        elif source.follow:
            yield from source.follow(name, file, self._settings_for(Path(name).parent).sites)
        else:
            for document in source.read(name, file):
                yield source.price(document, file, self._costing_of(name)) if source.price else document


def lint_paths(
    paths: Sequence[str],
    chosen: Collection[Rule],
    settings: Settings = _NO_SETTINGS,
    *,
    redact: bool = False,
    costing: Costing | None = None,
) -> Report:
    """Lint by these rules and settings. Raises ConfigError for a path that cannot be opened."""
    return Linter(lambda _: settings, chosen, redact=redact, costing=costing).paths(paths)


def lint_text(filename: str, text: str, chosen: Collection[Rule] | None = None) -> list[Finding]:
    """The findings in a text, linted as a file of this name; when there is nothing to inspect, that it is so."""
    linter = Linter(lambda _: _NO_SETTINGS, rules().values() if chosen is None else chosen)
    documents = list(linter._read(filename, io.BytesIO(text.encode("utf-8", "surrogatepass"))))
    if all(isinstance(document, (Unreadable, NotInspected)) for document in documents):
        documents.append(NotInspected(filename, "nothing was inspected", nothing=True))
    return sorted((found for document in documents for found in linter.judge(document)), key=_order)


def _needs(chosen: Collection[Rule]) -> str:
    """What the rules need, when all of them need something."""
    needs = [f"{rule.code} needs {' and '.join(rule.needs)} in the log" for rule in chosen if rule.needs]
    return f": {', '.join(needs)}" if needs and len(needs) == len(chosen) else ""


def _first_time(name: str, seen: set[str]) -> bool:
    """Whether a file was not looked at before in this run, under this name or another spelling of it."""
    path = os.path.abspath(name)  # noqa: PTH100 - a hundred thousand of them: no objects
    if path in seen:
        return False
    seen.add(path)
    return True


def _order(finding: Finding) -> tuple[str, int, int, str, int, str, str]:
    row = finding.location.row if finding.location else 0
    column = finding.location.column if finding.location else 0
    return finding.filename, row, column, finding.code, finding.start or 0, finding.pointer or "", finding.message
