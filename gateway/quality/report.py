"""What an evaluation found, for people."""

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from gateway.quality.compared import Failure, Outcome
from gateway.quality.equality import Equality

_LONGEST = 160


def print_outcome(console: Console, outcome: Outcome, margin: float, shown: int) -> None:
    """The table of kinds, what was left out, the worst tasks, the verdict."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("kind", no_wrap=True)
    for head in ("tasks", "answers", "before", "after", "change", "worse", "better", "p"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("")
    for row in outcome.rows:
        change = row.after - row.before
        table.add_row(
            row.kind,
            *(f"{row.tasks:,}", f"{row.answers:,}", f"{row.before:.1%}", f"{row.after:.1%}", f"{change:+.1%}"),
            *(f"{row.lost}", f"{row.won}", f"{row.p_value:.3f}"),
            "[bold red]regressed[/]" if row.regressed else "",
        )
    console.print(table)
    for left in outcome.not_run:
        console.print(f"[yellow]not run[/] {left.tasks} tasks of kind {left.kind}: {left.reason}", highlight=False)
    _failures(console, outcome.failures, shown)
    kinds = ", ".join(row.kind for row in outcome.rows if row.regressed)
    if kinds:
        console.print(f"[bold red]quality got worse[/]: {kinds}", highlight=False)
    elif not outcome.inspected:
        console.print("[bold red]nothing was judged[/]: neither target answered", highlight=False)
    else:
        console.print(f"[green]no loss above {margin:.1%} that is more than chance[/]", highlight=False)


def print_equality(console: Console, same: Equality, shown: int) -> None:
    """How many texts were equal, and where the others part."""
    lines = [
        f"{same.equal} of {same.compared} answers are the very same before and after",
        f"{same.alike} of {same.permuted} are the same for every order of their tools",
    ]
    if same.rewritten:
        lines.append(f"{same.rewritten} requests were rewritten on the way (tools in another order): not compared")
    if same.unstable:
        lines.append(f"{same.unstable} tasks are answered in two ways by `before` itself: they say nothing")
    for line in lines:
        console.print(line, highlight=False)
    for each in same.differences[:shown]:
        console.print(f"\n[bold]{escape(each.task)}[/] ({each.what}) from character {each.at:,}", highlight=False)
        console.print(f"  - {escape(repr(each.one))}\n  + {escape(repr(each.other))}", highlight=False)
    _more(console, len(same.differences) - shown)
    for error in same.errors[:shown]:
        console.print(f"[red]no answer[/] {escape(error)}", highlight=False)
    _more(console, len(same.errors) - shown)
    console.print("[green]equal[/]" if same.held else "[bold red]not equal[/]")


def _failures(console: Console, failures: Sequence[Failure], shown: int) -> None:
    for each in failures[:shown]:
        console.print(
            f"\n[bold]{escape(each.task)}[/]: {each.before} of {each.samples} right before, {each.after} after: "
            f"{escape(each.reason)}",
            highlight=False,
        )
        if each.said_before or each.said_after:
            console.print(
                f"  - {escape(_short(each.said_before))}\n  + {escape(_short(each.said_after))}", highlight=False
            )
    _more(console, len(failures) - shown)
    if failures:
        console.print()


def _more(console: Console, count: int) -> None:
    if count > 0:
        console.print(f"... and {count} more (--failures, --json)", highlight=False)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."
