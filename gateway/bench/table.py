"""The report for people at a terminal."""

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from gateway.bench.compare import Compared, Comparison
from gateway.bench.report import Report
from gateway.bench.summary import Group, Spread, Summary

_NAMES = ("TTFT", "ttft_s"), ("ITL", "itl_s"), ("TPOT", "tpot_s"), ("end to end", "e2e_s")


def print_report(console: Console, report: Report) -> None:
    """What was run, a block for each side, the comparison, and what to be careful about."""
    setting = report.setting
    model = f", model {setting.model}" if setting.model else ""
    console.print(f"[bold]{setting.source}[/] ({setting.kind}): {setting.arrival}{model}", highlight=False)
    console.print(
        f"seed {setting.seed}, isolation {setting.isolation}; times from when a request was due", style="dim"
    )
    for side, name in zip(report.sides, ("A", "B") if len(report.sides) > 1 else ("",), strict=True):
        _print_side(console, side, name)
    if report.comparison is not None:
        _print_comparison(console, report.comparison)
    for line in report.warnings:
        console.print(f"[yellow]note[/]: {line}", highlight=False)
    if report.interrupted:
        console.print("[yellow]interrupted[/]: requests that were in flight are not counted", highlight=False)


def _print_side(console: Console, side: Summary, name: str) -> None:
    total = side.total
    head = f"[bold]{name}[/] {side.url}" if name else side.url
    console.print(f"\n{head}: {total.completed:,} of {total.requests:,} requests completed in {side.seconds:.1f} s"
                  f" ({side.warmup_requests:,} more for warm-up)", highlight=False)  # fmt: skip
    console.print(", ".join(_rates(side)), highlight=False)
    for kind, (times, example) in side.errors.items():
        console.print(f"  {times:,} x {kind}: {example}", style="red", highlight=False, markup=False)
    latencies = _table("ms", "mean", "p50", "p90", "p95", "p99", "max", "values")
    for label, member in _NAMES:
        if (spread := getattr(total, member)) is not None:
            latencies.add_row(label, *_cells(spread), f"{spread.count:,}")
    console.print(latencies)
    for title, groups in (("route", side.by_route), ("prompt tokens", side.by_prompt_tokens)):
        if len(groups) > 1 or title == "prompt tokens":
            console.print(_groups(title, groups))


def _rates(side: Summary) -> Iterator[str]:
    total = side.total
    yield f"{side.completed_per_s:.2f} requests/s"
    yield f"{side.input_tokens_per_s:,.0f} input tokens/s"
    yield f"{side.output_tokens_per_s:,.0f} output tokens/s"
    yield "hit rate unknown" if total.hit_rate is None else f"hit rate {total.hit_rate:.1%}"
    if side.goodput_per_s is not None:
        unjudged = f" ({side.unjudged:,} could not be judged)" if side.unjudged else ""
        yield f"goodput {side.goodput_per_s:.2f} requests/s{unjudged}"
    if total.rejected:
        yield f"{total.rejected:,} rejected"


def _groups(title: str, groups: Sequence[Group]) -> Table:
    heads = ("n", "TTFT p50", "p95", "p99", "ITL p50", "p95", "p99", "e2e p50", "p99", "hits")
    table = _table(title, *heads)
    for group in groups:
        ttft, itl, e2e = group.ttft_s, group.itl_s, group.e2e_s
        table.add_row(
            group.name,
            f"{group.completed:,}",
            *(_at(each, name) for each in (ttft, itl) for name in ("p50", "p95", "p99")),
            *(_at(e2e, name) for name in ("p50", "p99")),
            "-" if group.hit_rate is None else f"{group.hit_rate:.0%}",
        )
    return table


def _print_comparison(console: Console, comparison: Comparison) -> None:
    table = _table("B against A", "A", "B", "B - A", "95 % interval", "p", "verdict")
    for row in comparison.rows:
        interval = f"{amount(row, row.low)} to {amount(row, row.high)}"
        p_value = "-" if row.p_value is None else f"{row.p_value:.3f}"
        cells = (amount(row, row.a), amount(row, row.b), amount(row, row.change), interval)
        colour = {"better": "green", "worse": "red"}.get(row.verdict, "")
        table.add_row(row.name, *cells, p_value, f"[{colour}]{row.verdict}[/]" if colour else row.verdict)
    console.print(table)
    console.print(
        f"{comparison.pairs} pairs of windows; equal targets are called different in at most "
        f"{comparison.alpha:.0%} of all runs",
        style="dim",
        highlight=False,
    )


def amount(row: Compared, value: float | None) -> str:
    """A value of a comparison in its unit."""
    if value is None:
        return "-"
    return f"{value * 1000:,.1f} ms" if row.unit == "s" else f"{value:.1%}"


def _table(first: str, *heads: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column(first, no_wrap=True)
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    return table


def _cells(spread: Spread) -> Iterator[str]:
    for name in ("mean", "p50", "p90", "p95", "p99", "max"):
        yield _ms(getattr(spread, name))


def _at(spread: Spread | None, name: str) -> str:
    return "-" if spread is None else _ms(getattr(spread, name))


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:,.1f}"
