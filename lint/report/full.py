"""Findings for a person at a terminal: what, where, the text with the place marked, what to do, where to read on.

What a rule says of itself stands below the first of its findings only.
"""

import io
import textwrap
from itertools import repeat
from typing import Final

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from lint.linter import Report
from lint.registry import rules
from lint.report.cost import cost_text, summary_lines
from lint.report.frame import Frame
from lint.report.frame import frames as frames_of
from lint.report.plain import place, summary
from lint.rule import Finding

_STYLES: Final = {"error": "bold red", "warning": "bold yellow", "info": "bold cyan"}
_EDGE: Final = "bold blue"
_WIDEST: Final = 110
"""Longer lines are hard to read."""
_FIXES: Final = {
    "safe": "--fix applies a safe one; --diff shows it",
    "unsafe": "--fix --unsafe-fixes moves words; look at it with --diff --unsafe-fixes",
}


def as_text(report: Report, *, frames: bool, plain: bool) -> str:
    """A report as it goes to standard output. plain: without colours, for a file."""
    terminal = Console()
    buffer = io.StringIO()
    width = terminal.width if terminal.is_terminal and not plain else _WIDEST
    coloured = terminal.is_terminal and not terminal.no_color and not plain
    console = Console(
        file=buffer,
        width=width,
        force_terminal=coloured,
        color_system="auto" if coloured else None,
        highlight=False,
    )
    write(report, console, frames=frames)
    return buffer.getvalue()


def write(report: Report, console: Console, *, frames: bool = True) -> None:
    """Write a report. frames: show the text around each finding, read again from its file."""
    explained: set[str] = set()
    width = min(console.width, _WIDEST)
    shown = frames_of(report.findings, max(20, width - 8)) if frames else repeat(None)
    for finding, around in zip(report.findings, shown, strict=False):
        _write(finding, console, around, explain=finding.code not in explained)
        explained.add(finding.code)
    for log in report.summaries:
        head, *lines = summary_lines(log)
        console.print(Text(head, "bold"), soft_wrap=True)
        console.print(Text("\n".join(lines)), soft_wrap=True)
    console.print(summary(report), style="bold", soft_wrap=True)


def _write(finding: Finding, console: Console, shown: Frame | None, *, explain: bool) -> None:
    style = _STYLES[finding.severity]
    width = min(console.width, _WIDEST)
    head = f"{finding.severity}[{finding.code}]"
    margin = " " * (len(str(shown.row)) + 1 if shown else 3)
    lines = textwrap.wrap(f"{head} {finding.name}: {finding.message}", width, subsequent_indent="  ")
    for number, line in enumerate(lines):
        text = Text(line)
        if not number:
            text.stylize(style, 0, len(head))
            text.stylize("bold", len(head), len(head) + 1 + len(finding.name))
        console.print(text, soft_wrap=True)
    console.print(Text.assemble((f"{margin[:-1]}--> ", _EDGE), _where(finding)), soft_wrap=True)
    if shown is not None:
        _write_frame(shown, console, style)
    for label, body in _notes(finding, explain=explain):
        _write_note(margin, label, body, console, width)
    console.print()


def _where(finding: Finding) -> str:
    request = "" if finding.request is None else f" request {finding.request}"
    pointer = "" if finding.pointer is None else f" {finding.pointer}"
    return place(finding) + request + pointer


def _write_frame(shown: Frame, console: Console, style: str) -> None:
    number = str(shown.row)
    bar, margin = ("| ", _EDGE), " " * (len(number) + 1)
    line = Text.assemble((f" {number} ", _EDGE), bar, shown.before, (shown.marked, style), shown.behind)
    carets = "^" * max(1, cell_len(shown.marked))
    under = Text.assemble(margin, " ", bar, " " * cell_len(shown.before), (carets, style))
    for text in (Text.assemble(margin, " ", bar), line, under):
        text.rstrip()
        console.print(text, soft_wrap=True)


def _notes(finding: Finding, *, explain: bool) -> list[tuple[str, str]]:
    rule = rules()[finding.code]
    notes: list[tuple[str, str]] = []
    if finding.recoverable_tokens and f"{finding.recoverable_tokens:,}" not in finding.message:
        places = "once" if finding.occurrences == 1 else f"in {finding.occurrences:,} requests"
        notes.append(("lost", f"about {finding.recoverable_tokens:,} tokens, {places}"))
    made = [f"{at.filename}:{at.location.row}:{at.location.column} ({at.label})" for at in finding.related]
    notes += [("made at", place) for place in made]
    if finding.cost is not None:
        notes.append(("cost", cost_text(finding.cost)))
    if explain:
        notes.append(("help", rule.instead.replace("`", "")))
    if finding.fix is not None and finding.fix.applicability in _FIXES:
        notes.append(("fix", _FIXES[finding.fix.applicability]))
    if explain and rule.gateway:
        settings = ", ".join(rule.gateway.splitlines())
        notes.append(("gateway", f"routes: {{NAME: {{{settings}}}}}"))
    return [*notes, ("docs", rule.url)] if explain else notes


def _write_note(margin: str, label: str, body: str, console: Console, width: int) -> None:
    lead = f"{margin} = {label}: "
    lines = textwrap.wrap(body, max(20, width - len(lead)), break_long_words=False, break_on_hyphens=False)
    for number, line in enumerate(lines):
        start = Text.assemble((f"{margin} = ", _EDGE), (f"{label}: ", "bold")) if not number else " " * len(lead)
        console.print(Text.assemble(start, line), soft_wrap=True)
