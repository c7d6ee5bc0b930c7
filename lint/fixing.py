"""`--fix` and `--diff`: the fixes of a report, applied to its files or shown as one diff."""

import difflib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import Final, NamedTuple

from lint.fixes import files
from lint.fixes.fixer import Fixed, Wanted, fixed
from lint.linter import Linter, Report
from lint.rule import Applicability, Finding

Stdin = tuple[str, bytes]
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")


class Outcome(NamedTuple):
    """One file. source: as it was. fixed: what became of it."""

    source: files.SourceText
    fixed: Fixed

    @property
    def changed(self) -> bool:
        """Whether it is another text now."""
        return self.fixed.text != self.source.text


def wanted(applicabilities: Collection[Applicability], may_fix: Callable[[Finding], bool]) -> Wanted:
    """Which findings to fix: of these applicabilities, of rules whose fixes are not switched off."""
    return lambda found: found.fix is not None and found.fix.applicability in applicabilities and may_fix(found)


def outcomes(report: Report, linter: Linter, choice: Wanted, stdin: Stdin | None) -> list[Outcome]:
    """What fixing every file of a report makes of it; nothing is written. stdin: the name and content of "-"."""
    names = dict.fromkeys(finding.filename for finding in report.findings if choice(finding))
    found: list[Outcome] = []
    for name in names:
        raw = stdin[1] if stdin and name == stdin[0] else files.read(name)
        source = files.decoded(name, raw)
        if source is not None:
            findings = [finding for finding in report.findings if finding.filename == name]
            found.append(Outcome(source, _fixed(source, findings, linter, choice)))
    return found


def _fixed(source: files.SourceText, findings: list[Finding], linter: Linter, choice: Wanted) -> Fixed:
    def lint(text: str) -> list[Finding]:
        try:
            return linter.text(source.filename, source.encoded(text))
        except UnicodeEncodeError:
            return [*findings, *findings]  # the file's encoding has no such letter, which is no improvement

    return fixed(source.text, findings, lint, choice)


def write(done: Iterable[Outcome], stdin: Stdin | None) -> None:
    """Write the files that were fixed. Raises ConfigError."""
    for outcome in done:
        if outcome.changed and (stdin is None or outcome.source.filename != stdin[0]):
            files.replace(outcome.source, outcome.fixed.text)


def piped(done: Iterable[Outcome], stdin: Stdin) -> bytes:
    """Standard input after its fixes."""
    found = next((outcome for outcome in done if outcome.source.filename == stdin[0]), None)
    return found.source.encoded(found.fixed.text) if found else stdin[1]


def after(report: Report, done: Iterable[Outcome]) -> Report:
    """The report with what is left in the files that were fixed."""
    left = {outcome.source.filename: outcome.fixed.findings for outcome in done}
    others = [finding for finding in report.findings if finding.filename not in left]
    findings = sorted([*others, *(found for of_file in left.values() for found in of_file)], key=lambda f: f.filename)
    return report._replace(findings=findings)


def diff(done: Iterable[Outcome]) -> str:
    """One diff of everything, which `patch` and `git apply` take."""
    return "".join(_diff(outcome) for outcome in done if outcome.changed)


def _diff(outcome: Outcome) -> str:
    name = outcome.source.filename
    before, behind = (_LINE.findall(text) for text in (outcome.source.text, outcome.fixed.text))
    lines = difflib.unified_diff(before, behind, name, name)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def summary(done: Iterable[Outcome], *, show: bool, written: bool) -> list[str]:
    """What was fixed, per file and rule when shown, and what was refused; one line each."""
    outcome_list = list(done)
    changed = [outcome for outcome in outcome_list if outcome.changed]
    lines: list[str] = []
    for outcome in changed if show else ():
        counts = Counter((finding.code, finding.name) for finding in outcome.fixed.applied)
        lines.append(f"{outcome.source.filename}:")
        lines += [f"  {count} x {code} {name}" for (code, name), count in sorted(counts.items())]
    total = sum(len(outcome.fixed.applied) for outcome in changed)
    if total:
        word = "Fixed" if written else "Would fix"
        lines.append(f"{word} {_counted(total, 'finding')} in {_counted(len(changed), 'file')}.")
    for outcome in outcome_list:
        for finding in outcome.fixed.refused:
            row = finding.location.row if finding.location else 1
            lines.append(
                f"{finding.filename}:{row}: the fix of {finding.code} was not applied: the file would not be read"
                " any more, or have other findings"
            )
    return lines


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"
