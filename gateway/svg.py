"""Plots as inline SVG for pages that need nothing else: axes with round marks, a grid, lines, dots, and the style.

One idea: a plot takes its colours for text and grid from the page (currentColor), so it is right on light and dark.
"""

from collections.abc import Callable, Iterator, Sequence
from html import escape
from math import ceil, floor, isfinite, log10
from typing import Final, NamedTuple

COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#8c564b")
"""Okabe and Ito's, distinguishable with colour vision deficiencies."""

WIDTH, HEIGHT = 560, 340
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 16, 44
_FLOOR: Final = 1e-9
_MOST_MARKS: Final = 6

STYLE: Final = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:74rem;padding:0 1rem;color:#222;background:#fff}
figure{display:inline-block;margin:0 1rem 1rem 0}figcaption{font-weight:600}
svg text{font:12px system-ui,sans-serif;fill:currentColor}
.grid{stroke:currentColor;opacity:.15}.bound{stroke:currentColor;stroke-dasharray:5 4;opacity:.6}
ul{list-style:none;padding:0}li{display:inline-block;margin-right:1.2rem}
li i{display:inline-block;width:.9em;height:.9em;border-radius:50%;margin-right:.4em}
table{border-collapse:collapse}th,td{padding:.2rem .7rem;text-align:right;border-bottom:1px solid #8884}
th:first-child,td:first-child{text-align:left}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#161616}}
"""


class Axis(NamedTuple):
    """Maps values to pixels. marks: (value, label)."""

    place: Callable[[float], float]
    marks: Sequence[tuple[float, str]]


class Series(NamedTuple):
    """Points of one colour: a line, or dots. name: shown when pointed at."""

    name: str
    colour: str
    points: Sequence[tuple[float, float]]
    dots: bool = False
    dashed: bool = False


def colour(nth: int) -> str:
    """The nth colour, from the first again after the last."""
    return COLOURS[nth % len(COLOURS)]


def grid(horizontal: Axis, vertical: Axis, label: str) -> Iterator[str]:
    """Lines and labels of both axes; `label` stands below."""
    for value, text in vertical.marks:
        y = vertical.place(value)
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{escape(text)}</text>'
    for value, text in horizontal.marks:
        x = horizontal.place(value)
        yield f'<text x="{x:.1f}" y="{HEIGHT - 22}" text-anchor="middle">{escape(text)}</text>'
    yield f'<text x="{(LEFT + WIDTH) / 2:.0f}" y="{HEIGHT - 4}" text-anchor="middle">{escape(label)}</text>'


def drawing(parts: Sequence[str]) -> str:
    """The parts as one SVG element."""
    return f'<svg role="img" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}">{"".join(parts)}</svg>'


def plot(series: Sequence[Series], label: str, *, log_x: bool = False, log_y: bool = False, top: float = 0.0) -> str:
    """Lines and dots over common axes. top: the least upper end of the vertical axis."""
    points = [point for each in series for point in each.points]
    horizontal = across([x for x, _ in points], log=log_x)
    vertical = upwards([y for _, y in points] + [top] * bool(top), log=log_y)
    parts = list(grid(horizontal, vertical, label))
    for each in series:
        placed = [(horizontal.place(x), vertical.place(y)) for x, y in each.points]
        parts += _dots(each, placed) if each.dots else _line(each, placed)
    return drawing(parts)


def across(values: Sequence[float], *, log: bool = False) -> Axis:
    """From left to right."""
    return _axis(values, LEFT + 8, WIDTH - RIGHT - 12, log=log)


def upwards(values: Sequence[float], *, log: bool = False) -> Axis:
    """From the bottom to the top; a linear one begins at zero."""
    return _axis(values if log else [0.0, *values], HEIGHT - BOTTOM, TOP, log=log)


def _axis(values: Sequence[float], begin: float, end: float, *, log: bool) -> Axis:
    usable = [value for value in values if isfinite(value) and (value > 0 or not log)]
    marks = _decades(usable or [1.0]) if log else _rounded(usable or [0.0, 1.0])
    scale = (lambda value: log10(max(value, _FLOOR))) if log else float
    low, high = scale(marks[0]), scale(marks[-1])

    def place(value: float) -> float:
        share = (scale(value) - low) / (high - low)
        return begin + (end - begin) * min(max(share, 0.0), 1.0)

    return Axis(place, [(mark, f"{mark:,g}" if mark < 1e6 else f"{mark:.0e}") for mark in marks])


def _rounded(values: Sequence[float]) -> list[float]:
    """Marks at 1, 2 or 5 times a power of ten, around all values."""
    low = min(values)
    high = max(values) if max(values) > low else low + 1.0
    step = 10.0 ** floor(log10(high - low))
    step = next(step * each for each in (0.1, 0.2, 0.5, 1, 2, 5) if (high - low) / (step * each) <= _MOST_MARKS)
    first, last = floor(low / step), ceil(high / step)
    return [round(nth * step, 9) for nth in range(first, max(last, first + 1) + 1)]


def _decades(values: Sequence[float]) -> list[float]:
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    return [10.0**power for power in range(low, max(high, low + 1) + 1)]


def _line(series: Series, placed: Sequence[tuple[float, float]]) -> list[str]:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
    dashed = ' stroke-dasharray="6 4"' * series.dashed
    line = f'<polyline fill="none" stroke="{series.colour}" stroke-width="2"{dashed} points="{path}">'
    return [f"{line}<title>{escape(series.name)}</title></polyline>"]


def _dots(series: Series, placed: Sequence[tuple[float, float]]) -> list[str]:
    """One path of them all: thousands of elements would make a page slow."""
    circles = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in placed)
    look = f'fill="none" stroke="{series.colour}" stroke-width="4" stroke-linecap="round" opacity=".6"'
    return [f'<path {look} d="{circles}"><title>{escape(series.name)}</title></path>']
