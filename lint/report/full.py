"""Findings for a person at a terminal: what, where, the text with the place marked, what to do, where to read on."""

from rich.console import Console
from rich.text import Text

from lint.linter import Report
from lint.registry import rules
from lint.report.cost import cost_text, summary_lines
from lint.report.frame import Frame, frame
from lint.report.plain import place, summary
from lint.rule import Finding

_STYLES = {"error": "bold red", "warning": "bold yellow", "info": "bold cyan"}


def write(report: Report, console: Console, *, frames: bool = True) -> None:
    """Write a report. frames: show the text around each finding, read again from its file."""
    for finding in report.findings:
        _write(finding, console, frame(finding) if frames else None)
    for log in report.summaries:
        head, *lines = summary_lines(log)
        console.print(Text(head, "bold"), soft_wrap=True)
        console.print(Text("\n".join(lines)), soft_wrap=True)
    console.print(summary(report), style="bold", highlight=False)


def _write(finding: Finding, console: Console, shown: Frame | None) -> None:
    head = Text.assemble(
        (f"{finding.severity}[{finding.code}]", _STYLES[finding.severity]), " ", (finding.name, "bold")
    )
    console.print(head + Text(f": {finding.message}"), soft_wrap=True)
    console.print(Text.assemble(("  --> ", "blue"), _where(finding)), soft_wrap=True)
    if shown is not None:
        _write_frame(shown, console, _STYLES[finding.severity])
    for made in finding.related:
        where = f"{made.filename}:{made.location.row}:{made.location.column} ({made.label})"
        console.print(Text.assemble(("   = ", "blue"), ("made at: ", "bold"), where), soft_wrap=True)
    if finding.cost is not None:
        console.print(Text.assemble(("   = ", "blue"), ("cost: ", "bold"), cost_text(finding.cost)), soft_wrap=True)
    rule = rules()[finding.code]
    console.print(Text.assemble(("   = ", "blue"), ("help: ", "bold"), rule.instead.replace("`", "")), soft_wrap=True)
    console.print(Text.assemble(("   = ", "blue"), ("docs: ", "bold"), finding.url), soft_wrap=True)
    console.print()


def _where(finding: Finding) -> str:
    request = "" if finding.request is None else f" request {finding.request}"
    pointer = "" if finding.pointer is None else f" {finding.pointer}"
    return place(finding) + request + pointer


def _write_frame(shown: Frame, console: Console, style: str) -> None:
    number = str(shown.row)
    bar, margin = ("| ", "blue"), " " * (len(number) + 1)
    line = Text.assemble((f" {number} ", "blue"), bar, shown.before, (shown.marked, style), shown.behind)
    under = Text.assemble(margin, " ", bar, " " * len(shown.before), ("^" * max(1, len(shown.marked)), style))
    for text in (Text.assemble(margin, " ", bar), line, under):
        console.print(text, soft_wrap=True)
