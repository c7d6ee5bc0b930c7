"""The report as one HTML file that needs nothing else: what was measured, over time and by prompt length."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Final

from gateway.bench.compare import Comparison
from gateway.bench.figures import figures
from gateway.bench.report import Report
from gateway.bench.summary import Group, Spread, Summary
from gateway.bench.table import amount
from gateway.svg import STYLE, colour

_LATENCIES: Final = {"TTFT": "ttft_s", "ITL": "itl_s", "TPOT": "tpot_s", "e2e": "e2e_s"}
_SHARES: Final = "mean", "p50", "p90", "p95", "p99", "max"
_MORE: Final = """
.note{border-left:4px solid #e69f00;padding:.1rem .8rem;margin:.4rem 0}h2{margin-top:2rem}
td.better{color:#009e73;font-weight:600}td.worse{color:#d55e00;font-weight:600}.dim{opacity:.7}
.wide{overflow-x:auto}svg{max-width:100%;height:auto}table{margin-bottom:1rem;font-size:.87em}
th,td{padding:.2rem .45rem}td{white-space:nowrap}
"""


def report_html(report: Report) -> str:
    """The whole page."""
    setting = report.setting
    names = _names(report)
    began = datetime.fromtimestamp(report.started, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    facts = (
        f"{setting.kind}; {setting.arrival}; model {setting.model or 'as recorded'}; seed {setting.seed}; "
        f"isolation {setting.isolation}; {began}; prefixgate {report.version}"
    )
    notes = [f'<p class="note">{escape(line)}</p>' for line in report.warnings]
    if report.interrupted:
        notes.append('<p class="note">interrupted: requests that were in flight are not counted</p>')
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>prefixgate bench: {escape(setting.source)}</title><style>{STYLE}{_MORE}</style>"
        f'<h1>{escape(setting.source)}</h1><p>{escape(facts)}</p><p class="dim">Latencies run from when a request '
        "was due, not from when it was sent. All but the warm-up's requests.</p>"
        f"{''.join(notes)}{_legend(names)}"
        f"{_comparison(report.comparison) if report.comparison is not None else ''}"
        f"{''.join(_side(side, name) for side, name in zip(report.sides, names, strict=True))}"
        f"<h2>Plots</h2>{''.join(figures(report, names))}</html>\n"
    )


def _names(report: Report) -> list[str]:
    if len(report.sides) == 1:
        return [report.sides[0].url]
    return [f"{letter}: {side.url}" for letter, side in zip("AB", report.sides, strict=True)]


def _legend(names: Sequence[str]) -> str:
    rows = (f'<li><i style="background:{colour(nth)}"></i>{escape(name)}</li>' for nth, name in enumerate(names))
    return f"<ul>{''.join(rows)}</ul>"


def _side(side: Summary, name: str) -> str:
    total = side.total
    goodput = "-" if side.goodput_per_s is None else f"{side.goodput_per_s:.2f}"
    hits = "unknown" if total.hit_rate is None else f"{total.hit_rate:.1%}"
    rates = [
        ("completed", f"{total.completed:,} of {total.requests:,} in {side.seconds:.1f} s"),
        ("requests/s", f"{side.completed_per_s:.2f}"),
        ("goodput/s", goodput),
        ("input tokens/s", f"{side.input_tokens_per_s:,.0f}"),
        ("output tokens/s", f"{side.output_tokens_per_s:,.0f}"),
        ("hit rate", hits),
        ("not reported", f"{total.unreported:,}"),
        ("rejected", f"{total.rejected:,}"),
        ("client's CPU", f"{side.client.cpu_share:.0%} of one"),
        ("client's lag p99", _ms(side.client.lag_s, "p99")),
    ]
    errors = [[kind, f"{times:,}", example] for kind, (times, example) in side.errors.items()]
    return (
        f"<h2>{escape(name)}</h2>{_table([head for head, _ in rates], [[cell for _, cell in rates]])}"
        f"{_table(['errors', 'times', 'for example'], errors) if errors else ''}"
        f"{_table(['ms', *_SHARES, 'values'], list(_latency_rows(total)))}"
        f"{_groups('route', side.by_route)}{_groups('prompt tokens', side.by_prompt_tokens)}"
    )


def _latency_rows(group: Group) -> Iterator[list[str]]:
    for label, member in _LATENCIES.items():
        spread: Spread | None = getattr(group, member)
        if spread is not None:
            yield [label, *(_ms(spread, share) for share in _SHARES), f"{spread.count:,}"]


def _groups(title: str, groups: Sequence[Group]) -> str:
    heads = [title, "requests", "completed", "hit rate"]
    shown = [(label, member) for label, member in _LATENCIES.items() if label != "TPOT"]
    heads += [f"{label} {share}" for label, _ in shown for share in _SHARES[1:]]
    rows = []
    for group in groups:
        hits = "-" if group.hit_rate is None else f"{group.hit_rate:.1%}"
        cells = [group.name, f"{group.requests:,}", f"{group.completed:,}", hits]
        rows.append(cells + [_ms(getattr(group, member), share) for _, member in shown for share in _SHARES[1:]])
    return _table(heads, rows)


def _comparison(comparison: Comparison) -> str:
    rows = []
    for row in comparison.rows:
        interval = f"{amount(row, row.low)} to {amount(row, row.high)}"
        p_value = "-" if row.p_value is None else f"{row.p_value:.3f}"
        cells = (row.name, amount(row, row.a), amount(row, row.b), amount(row, row.change), interval, p_value)
        plain = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        rows.append(f'<tr>{plain}<td class="{row.verdict.split()[0]}">{row.verdict}</td></tr>')
    heads = "".join(f"<th>{head}</th>" for head in ("", "A", "B", "B - A", "95 % interval", "p", "verdict"))
    return (
        f'<h2>B against A</h2><div class="wide"><table><tr>{heads}</tr>{"".join(rows)}</table></div>'
        f'<p class="dim">{comparison.pairs} pairs of windows; p-values are corrected for looking at several numbers: '
        f"equal targets are called different in at most {comparison.alpha:.0%} of all runs.</p>"
    )


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(each)}</th>" for each in heads)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>'


def _ms(spread: Spread | None, share: str) -> str:
    return "-" if spread is None else f"{1000 * getattr(spread, share):,.1f}"
