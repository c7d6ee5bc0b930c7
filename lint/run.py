"""One run of `prefixgate lint`: settings, findings, fixes, what counts, the report, the exit code.

What only some runs need (fixing, baselines, git) is imported by those.
"""

from __future__ import annotations

import gc
import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click

from lint.costing import Costing
from lint.linter import STDIN, Linter, Report
from lint.nearest import Nearest
from lint.report import TEXT_FORMATS, statistics
from lint.rule import Applicability, Finding
from lint.selection import known
from lint.settings import Settings
from prefix.errors import ConfigError

if TYPE_CHECKING:
    from lint.fixing import Outcome, Stdin


_ALLOCATIONS: Final = 20_000
"""Containers made and not freed after which the youngest are looked through; 700 by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line says. given: settings, by their keys. See lint.cli for the others."""

    paths: Sequence[str]
    given: dict[str, Any]
    config_file: Path | None = None
    isolated: bool = False
    form: str = "full"
    output: Path | None = None
    exit_zero: bool = False
    counts: bool = False
    redact: bool = False
    stdin_filename: str | None = None
    fix: bool = False
    unsafe: bool = False
    fix_only: bool = False
    show_fixes: bool = False
    show_diff: bool = False
    exit_non_zero_on_fix: bool = False
    write_baseline: bool = False
    diff_base: str | None = None
    noqa: bool = False
    hook: bool = False
    no_cost: bool = False


def run(options: Options) -> int:
    """Lint, and say the exit code: 1 when something counts. Raises ConfigError for what cannot be done."""
    nearest = Nearest(options.given, file=options.config_file, isolated=options.isolated)
    settings = nearest(Path.cwd())
    known(*settings.fixable, *settings.unfixable)
    stdin = _stdin(options)
    opened: BinaryIO = io.BytesIO(stdin[1]) if stdin else sys.stdin.buffer
    named = (options.stdin_filename, opened) if options.stdin_filename else None
    fixes = options.fix or options.show_diff
    if options.redact and (options.show_diff or stdin):
        raise ConfigError("--redact hides the text that --diff and the fixes of standard input show")
    costing = Costing(replay=False) if options.no_cost else None
    linter = Linter(nearest, redact=options.redact and not fixes, stdin=named, hook=options.hook, costing=costing)
    with _seldom_collected():
        report = linter.paths(options.paths)
    if options.noqa:
        from lint.noqa import add_noqa

        click.echo(add_noqa(report, linter), err=True)
        return 0
    done: list[Outcome] = []
    if fixes:
        report, done = _fix(report, linter, nearest, options, stdin)
        if options.show_diff:
            return int(any(outcome.changed for outcome in done))
    failed_by_fix = options.exit_non_zero_on_fix and any(outcome.changed for outcome in done)
    if options.fix_only:
        return int(failed_by_fix)
    if options.redact and fixes:
        report = Linter(nearest, redact=True, hook=options.hook, costing=costing).paths(options.paths)
    report = _counting(report, settings, options)
    _put(_text(report, options), options.output, err=stdin is not None)
    return int((failed_by_fix or _fails(report, settings)) and not options.exit_zero)


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Syntax trees are many objects and hardly a cycle: looking for garbage among them takes a tenth of the time."""
    before = gc.get_threshold()
    gc.set_threshold(_ALLOCATIONS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _stdin(options: Options) -> Stdin | None:
    """Standard input that is to be fixed: its name and all of it."""
    if STDIN in options.paths and options.stdin_filename and (options.fix or options.show_diff):
        return options.stdin_filename, sys.stdin.buffer.read()
    return None


def _fix(
    report: Report, linter: Linter, nearest: Nearest, options: Options, stdin: Stdin | None
) -> tuple[Report, list[Outcome]]:
    """Fix, or show how. Returns what is left, and what was done."""
    from lint import fixing

    applicabilities: list[Applicability] = ["safe", "unsafe"] if options.unsafe else ["safe"]

    def may_fix(finding: Finding) -> bool:
        return nearest(Path(finding.filename).parent).may_fix(finding.code, finding.name)

    done = fixing.outcomes(report, linter, fixing.wanted(applicabilities, may_fix), stdin)
    if options.show_diff:
        click.echo(fixing.diff(done), nl=False)
    else:
        fixing.write(done, stdin)
        if stdin is not None:
            sys.stdout.buffer.write(fixing.piped(done, stdin))
    for line in fixing.summary(done, show=options.show_fixes, written=not options.show_diff):
        click.echo(line, err=True)
    return fixing.after(report, done), done


def _counting(report: Report, settings: Settings, options: Options) -> Report:
    """The findings that count: on changed lines, and not in the baseline."""
    findings = report.findings
    if options.diff_base is not None:
        from lint.changed import only_changed

        findings = only_changed(findings, options.diff_base)
    if settings.baseline is not None:
        findings = _new(findings, settings.folder / settings.baseline, options.write_baseline)
    elif options.write_baseline:
        raise ConfigError("--write-baseline needs a file: --baseline FILE, or `baseline` in the settings")
    return report._replace(findings=findings)


def _new(findings: list[Finding], file: Path, write: bool) -> list[Finding]:
    from lint import baseline

    if write:
        baseline.write(findings, file)
        click.echo(f"Wrote {len(findings):,} findings to {file}.", err=True)
    compared = baseline.compare(findings, file)
    if compared.gone:
        click.echo(f"{compared.gone:,} of the baseline are gone; --write-baseline takes them out.", err=True)
    return compared.new


def _fails(report: Report, settings: Settings) -> bool:
    """With a number of warnings allowed, warnings by themselves are no failure."""
    if settings.max_warnings is None:
        return bool(report.at_least(settings.fail_on))
    warnings = sum(finding.severity == "warning" for finding in report.findings)
    lenient = "error" if settings.fail_on == "warning" else settings.fail_on
    return warnings > settings.max_warnings or bool(report.at_least(lenient))


def _text(report: Report, options: Options) -> str:
    if options.counts:
        return statistics(report)
    if options.form != "full":
        return TEXT_FORMATS[options.form](report)
    from lint.report.full import as_text

    return as_text(report, frames=not options.redact, plain=options.output is not None)


def _put(text: str, output: Path | None, *, err: bool) -> None:
    text = text.rstrip("\n") + "\n" if text else ""
    if output is None:
        click.echo(text, err=err, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{output}: cannot be written: {error.strerror or error}") from None
