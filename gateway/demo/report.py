"""What the demo says: first what is real and what is simulated, at the end two tables and their differences."""

from collections.abc import Sequence
from typing import Final

from rich import box
from rich.console import Console
from rich.table import Table

from gateway.demo.fleet import EngineShape
from gateway.demo.result import PassResult, warnings
from gateway.demo.script import CLIENT_PROCESSES, CLOCK, SHUFFLED_ROUTE
from gateway.demo.tally import Tokens, TokensByLabels, by_name, total
from gateway.demo.workload import SHRINK, WINDOW_S, Workload

_MARKS: Final = {SHUFFLED_ROUTE: "¹", f"{CLOCK[0]} {CLOCK[1]}": "²"}
_NOTES: Final = (
    f"¹ clients list the same tools in {CLIENT_PROCESSES} orders; the level safe sorts them\n"
    "² opens with a clock: no router repairs that, the prompt must change\n"
    "change: prefixgate less round robin + off, in percentage points\n"
    "infinite cache: one for all engines, prompts computed at once: the bound"
)


def print_setting(console: Console, workload: Workload, engines: int, shape: EngineShape) -> None:
    """What is about to run, before the first pass."""
    count = len(workload.requests)
    kib = sum(len(request.body) for request in workload.requests) / count / 1024
    facts = {
        "real": "The gateway, HTTP, streaming. From Mooncake's conversation trace (Kimi, production): order and "
        f"rhythm of arrivals, lengths, shared prefixes; whole conversations out of {WINDOW_S / 60:.0f} minutes.",
        "simulated": f"{engines} engines: SGLang's radix cache, pages, eviction and scheduler, without a model. "
        f"{shape.prefill_tokens_per_s:,} tokens/s prefill, {shape.decode_step_ms:g} ms a decode step.",
        "ours": f"Text, routes, customers, prompt versions. Lengths are 1/{SHRINK} of the trace's, its time runs "
        f"{workload.compression:.0f}x as fast. Prompt {CLOCK[1]} of {CLOCK[0]} opens with a clock; {SHUFFLED_ROUTE} "
        f"lists its tools in {CLIENT_PROCESSES} different orders.",
        "load": f"{count} requests, {count / workload.seconds:.0f} a second, {kib:.1f} KiB each on average.",
        "KV cache": f"{shape.kv_capacity:,} tokens an engine, {engines * shape.kv_capacity:,} in all; "
        "engines and gateway start anew, cold, for each pass.",
    }
    table = Table.grid(padding=(0, 2))
    for name, text in facts.items():
        table.add_row(f"[bold]{name}[/]", text)
    console.print("[bold]prefixgate demo[/]: one workload, three ways to route it")
    console.print(table)


def print_results(console: Console, results: Sequence[PassResult], bound: TokensByLabels) -> None:
    """The tables, the differences, and every reason not to trust them."""
    console.print(_passes(results))
    console.print(_hit_rates(results, bound))
    for result in results:
        for warning in warnings(result):
            console.print(f"[yellow]warning[/] {result.plan.name}: {warning}", highlight=False)


def _passes(results: Sequence[PassResult]) -> Table:
    table = _table("All requests")
    table.add_column("pass", no_wrap=True)
    for name in ("hit rate", "TTFT p50", "TTFT p99", "failed"):
        table.add_column(name, justify="right", no_wrap=True)
    for result in results:
        table.add_row(
            result.plan.name,
            _percent(result.hit_rate),
            _milliseconds(result.ttft_p50_s),
            _milliseconds(result.ttft_p99_s),
            str(len(result.errors)),
        )
    table.add_section()
    *others, ours = results
    for other in others:
        table.add_row(
            f"{ours.plan.name} vs {other.plan.name}",
            _points(ours.hit_rate, other.hit_rate),
            _change(ours.ttft_p50_s, other.ttft_p50_s),
            _change(ours.ttft_p99_s, other.ttft_p99_s),
            "",
        )
    return table


def _hit_rates(results: Sequence[PassResult], bound: TokensByLabels) -> Table:
    table = _table("Hit rate: cached / prompt tokens", caption=_NOTES)
    table.add_column("", no_wrap=True)
    for head in (*(result.plan.name for result in results), "change (points)", "infinite cache"):
        table.add_column(head.replace(" ", "\n").replace("+\n", "+ "), justify="right")
    views = [by_name(result.gateway) for result in results]
    for view, names in by_name(bound).items():
        table.add_row(f"[bold]by {view}[/]")
        for name, most in names.items():
            rates = [_rate(one[view].get(name)) for one in views]
            table.add_row(f"  {name} {_MARKS.get(name, '')}".rstrip(), *_cells(rates, most.hit_rate))
    table.add_section()
    table.add_row("all", *_cells([result.hit_rate for result in results], total(bound).hit_rate))
    return table


def _cells(rates: Sequence[float | None], most: float | None) -> list[str]:
    return [*map(_percent, rates), _points(rates[-1], rates[0]), _percent(most)]


def _table(title: str, caption: str | None = None) -> Table:
    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        caption=caption,
        caption_justify="left",
        box=box.SIMPLE_HEAD,
    )


def _rate(tokens: Tokens | None) -> float | None:
    return tokens.hit_rate if tokens else None


def _percent(rate: float | None) -> str:
    return "unknown" if rate is None else f"{rate:.1%}"


def _milliseconds(seconds: float | None) -> str:
    return "unknown" if seconds is None else f"{seconds * 1000:,.0f} ms"


def _points(ours: float | None, other: float | None) -> str:
    return "unknown" if ours is None or other is None else f"{(ours - other) * 100:+.1f}"


def _change(ours: float | None, other: float | None) -> str:
    return "unknown" if ours is None or not other else f"{ours / other - 1:+.0%}"
