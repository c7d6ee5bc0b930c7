"""A study as a table for people and as JSON for machines."""

from collections.abc import Iterator

import msgspec
from rich import box
from rich.console import Console
from rich.table import Table

from gateway.simulate.study import Row, Study

_NOTE = (
    "inf, LRU: hits by those of one infinite shared cache, of one LRU as large as all engines' memory\n"
    "spread: tokens computed by the busiest engine, by the mean of all\n"
    "given up: prompt tokens that another worker was believed to hold\n"
    "sim/s: requests simulated per second of processor time\n"
    "The first tenth of the requests is left out. Times are those of a stated model, not measured."
)
_HEADS = "load", "hits", "inf", "LRU", "TTFT mean", "p50", "p90", "p99 s", "spread", "given up", "sim/s"


def print_study(console: Console, study: Study) -> None:
    """What was simulated, then a row for each policy and load."""
    setting = study.setting
    skipped = f", {study.bad_lines} bad lines left out" if study.bad_lines else ""
    console.print(
        f"[bold]{study.trace}[/]: {study.requests:,} requests{skipped}; {setting.engines} engines of "
        f"{setting.kv_capacity_tokens:,} tokens, profile {setting.profile}, blocks of {setting.block_tokens}\n"
        f"hit rate of one infinite shared cache {study.infinite_hit_rate:.1%}, of one pooled LRU "
        f"{study.pooled_hit_rate:.1%}",
        highlight=False,
    )
    table = Table(box=box.SIMPLE_HEAD, caption=_NOTE, caption_justify="left", padding=(0, 1, 0, 0))
    table.add_column("policy", no_wrap=True)
    for head in _HEADS:
        table.add_column(head, justify="right", no_wrap=True)
    for row in study.rows:
        table.add_row(row.policy, *_cells(study, row))
    console.print(table)


def study_json(study: Study) -> str:
    """Every number of the study, on one line."""
    rows = [
        {
            "policy": row.policy,
            "rate": row.rate,
            "of_infinite": _share(row.measured.hit_rate, study.infinite_hit_rate),
            "of_pooled": _share(row.measured.hit_rate, study.pooled_hit_rate),
            "simulated_per_s": row.simulated_per_s,
            **msgspec.to_builtins(row.measured),
        }
        for row in study.rows
    ]
    return msgspec.json.encode({**msgspec.to_builtins(study), "rows": rows}).decode()


def _cells(study: Study, row: Row) -> Iterator[str]:
    one = row.measured
    yield f"{row.rate:g}x"
    yield f"{one.hit_rate:.1%}"
    for bound in (study.infinite_hit_rate, study.pooled_hit_rate):
        share = _share(one.hit_rate, bound)
        yield "-" if share is None else f"{share:.2f}"
    for seconds in (one.ttft_mean_s, one.ttft_p50_s, one.ttft_p90_s, one.ttft_p99_s):
        yield f"{seconds:,.3f}" if seconds < 10 else f"{seconds:,.1f}"
    yield f"{one.imbalance:.2f}"
    yield f"{one.given_up_tokens / one.input_tokens:.1%}"
    yield f"{row.simulated_per_s:,.0f}"


def _share(rate: float, bound: float) -> float | None:
    return rate / bound if bound else None
