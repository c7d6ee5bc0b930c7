"""A study as one HTML file that needs nothing else: hit rate and p99 TTFT over load, as inline SVG, and a table."""

from collections.abc import Callable, Iterator, Sequence
from html import escape
from math import ceil, floor, log10

from gateway.simulate.study import Row, Study
from gateway.svg import BOTTOM, HEIGHT, LEFT, RIGHT, STYLE, TOP, WIDTH, Axis, colour, drawing, grid


def study_html(study: Study) -> str:
    """The whole page."""
    setting = study.setting
    facts = (
        f"{study.requests:,} requests, {setting.engines} engines of {setting.kv_capacity_tokens:,} tokens, "
        f"profile {setting.profile}, seed {setting.seed}; the first tenth is left out"
    )
    policies = list(dict.fromkeys(row.policy for row in study.rows))
    legend = "".join(
        f'<li><i style="background:{colour(nth)}"></i>{escape(policy)}</li>' for nth, policy in enumerate(policies)
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        f"<title>prefixgate simulate: {escape(study.trace)}</title><style>{STYLE}</style>"
        f"<h1>{escape(study.trace)}</h1><p>{escape(facts)}</p><ul>{legend}</ul>"
        f"<figure><figcaption>Hit rate</figcaption>{_hit_rates(study, policies)}</figure>"
        f"<figure><figcaption>TTFT p99, seconds (log)</figcaption>{_ttft(study, policies)}</figure>"
        f"{_table(study)}</html>\n"
    )


def _hit_rates(study: Study, policies: Sequence[str]) -> str:
    bounds = [("infinite cache", study.infinite_hit_rate), ("pooled LRU", study.pooled_hit_rate)]
    most = max([row.measured.hit_rate for row in study.rows] + [rate for _, rate in bounds]) or 1.0
    top = ceil(most * 10) / 10
    marks = [(k * top / 5, f"{k * top / 5:.0%}") for k in range(6)]
    vertical = Axis(lambda rate: HEIGHT - BOTTOM - rate / top * (HEIGHT - TOP - BOTTOM), marks)
    lines = [
        f'<line class="bound" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{vertical.place(rate):.1f}" '
        f'y2="{vertical.place(rate):.1f}"><title>{name}: {rate:.1%}</title></line>'
        f'<text x="{LEFT + 6}" y="{vertical.place(rate) - 4:.1f}">{name}</text>'
        for name, rate in bounds
    ]
    return _panel(study, policies, vertical, lambda row: row.measured.hit_rate, lambda value: f"{value:.1%}", lines)


def _ttft(study: Study, policies: Sequence[str]) -> str:
    values = [max(row.measured.ttft_p99_s, 1e-6) for row in study.rows]
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    high = max(high, low + 1)
    marks = [(10.0**power, f"{10.0**power:g}") for power in range(low, high + 1)]
    scale = (HEIGHT - TOP - BOTTOM) / (high - low)
    vertical = Axis(lambda value: HEIGHT - BOTTOM - (log10(max(value, 1e-6)) - low) * scale, marks)
    return _panel(study, policies, vertical, lambda row: row.measured.ttft_p99_s, lambda value: f"{value:.3f} s", [])


def _panel(
    study: Study,
    policies: Sequence[str],
    vertical: Axis,
    value: Callable[[Row], float],
    spell: Callable[[float], str],
    extra: Sequence[str],
) -> str:
    """Grid, axes and one line a policy."""
    horizontal = _loads(sorted({row.rate for row in study.rows}))
    parts = [*grid(horizontal, vertical, "load, by the trace's own"), *extra]
    for nth, policy in enumerate(policies):
        rows = sorted((row for row in study.rows if row.policy == policy), key=lambda row: row.rate)
        points = [(horizontal.place(row.rate), vertical.place(value(row))) for row in rows]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline fill="none" stroke="{colour(nth)}" stroke-width="2" points="{path}"/>')
        parts += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour(nth)}">'
            f"<title>{escape(policy)} at {row.rate:g}x: {spell(value(row))}</title></circle>"
            for row, (x, y) in zip(rows, points, strict=True)
        ]
    return drawing(parts)


def _loads(rates: Sequence[float]) -> Axis:
    low, span = rates[0], (rates[-1] - rates[0]) or 1.0
    shift = 0.5 if len(rates) == 1 else 0.0
    room = WIDTH - LEFT - RIGHT - 24
    return Axis(
        lambda rate: LEFT + 12 + ((rate - low) / span + shift) * room, [(rate, f"{rate:g}x") for rate in rates]
    )


def _table(study: Study) -> str:
    heads = "policy", "load", "hit rate", "TTFT mean", "p50", "p90", "p99", "imbalance"
    rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in _cells(row))}</tr>" for row in study.rows)
    return f"<table><tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr>{rows}</table>"


def _cells(row: Row) -> Iterator[str]:
    one = row.measured
    yield from (row.policy, f"{row.rate:g}x", f"{one.hit_rate:.1%}")
    yield from (f"{s:.3f} s" for s in (one.ttft_mean_s, one.ttft_p50_s, one.ttft_p90_s, one.ttft_p99_s))
    yield f"{one.imbalance:.2f}"
