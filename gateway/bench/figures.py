"""The plots of a report: latency over time and by share, load, prompt lengths, the engines' gauges."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from html import escape
from itertools import chain, pairwise
from typing import Final

from gateway.bench.gauges import ACCEPTED, KV_USE, RUNNING, UNITS, WAITING, over_time
from gateway.bench.outcome import Outcome
from gateway.bench.report import Report
from gateway.bench.summary import Summary
from gateway.svg import Series, colour, plot

_MOST_POINTS: Final = 300
_MOST_DOTS: Final = 3_000
_STEPS: Final = 100
_RATE_STEPS: Final = 25
_TITLES: Final = {
    RUNNING: "Running",
    WAITING: "Waiting",
    KV_USE: "KV use",
    ACCEPTED: "Accepted draft tokens",
}


def figures(report: Report, names: Sequence[str]) -> Iterator[str]:
    """Each plot with its caption; what was not measured has none."""
    measured = [
        [each for each in report.outcomes if each.side == nth and each.measured] for nth in range(len(report.sides))
    ]
    good = [[each for each in side if each.error is None] for side in measured]
    yield _figure("TTFT of each request, ms (log)", _over_time(good, names), "seconds since the start", log_y=True)
    yield _figure("TTFT: share of requests within ms (log)", _shares(good, names, _ttft), "ms", log_x=True, top=1.0)
    yield _figure("ITL: share of gaps within ms (log)", _shares(good, names, _gaps), "ms", log_x=True, top=1.0)
    yield _figure(
        "End to end: share of requests within ms (log)", _shares(good, names, _e2e), "ms", log_x=True, top=1.0
    )
    yield _figure("In flight", _in_flight(measured, names), "seconds since the start")
    yield _figure("Completed a second", _completed(good, names), "seconds since the start")
    yield _figure("TTFT p50, p95 (dashed) and p99, ms (log)", _by_length(report.sides, names), "prompt tokens from",
                  log_x=True, log_y=True)  # fmt: skip
    for gauge, unit in UNITS.items():
        engines = [
            Series(f"{name} {engine}", colour(nth + place * len(names)), points)
            for nth, (name, gauges) in enumerate(zip(names, report.gauges, strict=True))
            for place, (engine, points) in enumerate(over_time(gauges).get(gauge, {}).items())
        ]
        title = f"{_TITLES[gauge]} by engine ({unit})"
        yield _figure(title, engines, "seconds since the start")


def _figure(
    title: str, series: Sequence[Series], label: str, *, log_x: bool = False, log_y: bool = False, top: float = 0.0
) -> str:
    if not any(each.points for each in series):
        return ""
    drawn = plot(series, label, log_x=log_x, log_y=log_y, top=top)
    return f"<figure><figcaption>{escape(title)}</figcaption>{drawn}</figure>"


def _ttft(outcome: Outcome) -> list[float]:
    return [] if (seconds := outcome.ttft_s) is None else [seconds]


def _gaps(outcome: Outcome) -> list[float]:
    return outcome.gaps_s


def _e2e(outcome: Outcome) -> list[float]:
    return [outcome.e2e_s]


def _over_time(sides: Sequence[Sequence[Outcome]], names: Sequence[str]) -> list[Series]:
    found = []
    for nth, (name, side) in enumerate(zip(names, sides, strict=True)):
        dots = [(each.due_s, 1000 * ttft) for each in side for ttft in _ttft(each)]
        found.append(Series(name, colour(nth), dots[:: max(1, len(dots) // _MOST_DOTS)], dots=True))
    return found


def _shares(
    sides: Sequence[Sequence[Outcome]], names: Sequence[str], read: Callable[[Outcome], list[float]]
) -> list[Series]:
    """Which share of the values is at most so many ms, at evenly spread shares and at the last ones."""
    found = []
    for nth, (name, side) in enumerate(zip(names, sides, strict=True)):
        values = sorted(chain.from_iterable(map(read, side)))
        count = len(values)
        chosen = sorted({*range(0, count, max(1, count // _MOST_POINTS)), *range(max(0, count - 20), count)})
        points = [(max(1000 * values[at], 0.1), (at + 1) / count) for at in chosen]
        found.append(Series(name, colour(nth), points))
    return found


def _in_flight(sides: Sequence[Sequence[Outcome]], names: Sequence[str]) -> list[Series]:
    found = []
    for nth, (name, side) in enumerate(zip(names, sides, strict=True)):
        begun, ended = sorted(each.sent_s for each in side), sorted(each.ended_s for each in side)
        flying = [(at, float(bisect_right(begun, at) - bisect_right(ended, at))) for at in _moments(sides, _STEPS)]
        found.append(Series(name, colour(nth), flying))
    return found


def _completed(sides: Sequence[Sequence[Outcome]], names: Sequence[str]) -> list[Series]:
    found = []
    for nth, (name, side) in enumerate(zip(names, sides, strict=True)):
        ends = sorted(each.ended_s for each in side)
        steps = pairwise(_moments(sides, _RATE_STEPS))
        rates = [(to, (bisect_right(ends, to) - bisect_right(ends, at)) / (to - at)) for at, to in steps]
        found.append(Series(name, colour(nth), rates))
    return found


def _moments(sides: Sequence[Sequence[Outcome]], steps: int) -> list[float]:
    """So many steps from the start to the last end."""
    last = max((each.ended_s for side in sides for each in side), default=0.0)
    return [last / steps * nth for nth in range(steps + 1)] if last else []


def _by_length(sides: Sequence[Summary], names: Sequence[str]) -> list[Series]:
    found = []
    for nth, (name, side) in enumerate(zip(names, sides, strict=True)):
        rows = [(_from(group.name), group.ttft_s) for group in side.by_prompt_tokens if group.ttft_s is not None]
        for share in ("p50", "p95", "p99"):
            points = [(at, 1000 * getattr(spread, share)) for at, spread in rows if at is not None]
            found.append(Series(f"{name} {share}", colour(nth), points, dashed=share == "p95"))
            found.append(Series(f"{name} {share}", colour(nth), points, dots=True))
    return found


def _from(name: str) -> float | None:
    """Where a row of prompt lengths begins."""
    word = name.partition(" ")[0].replace(",", "")
    return 256.0 if word == "below" else float(word) if word.isdigit() else None
