"""The report: warnings that say how far it can be trusted, a table, a page and JSON that say the same."""

import io
from collections.abc import Sequence
from functools import cache
from html.parser import HTMLParser
from random import Random
from typing import Any

import msgspec
import pytest
from rich.console import Console

from gateway.bench.compare import compare
from gateway.bench.gauges import KV_USE, Gauge
from gateway.bench.outcome import REJECTED, Outcome
from gateway.bench.page import report_html
from gateway.bench.progress import progress
from gateway.bench.report import Report, Setting, as_json, warnings
from gateway.bench.slo import parse_slos
from gateway.bench.summary import Summary, summarize
from gateway.bench.table import print_report
from tests.gateway.bench.outcomes import outcome
from tests.gateway.bench.test_compare import traffic

SETTING = Setting("t<&>.jsonl", "trace", "open loop", 7, "prompts", "m", {"ttft": 0.5})
PLENTY = [outcome(due_s=float(n), sent_s=float(n), ended_s=n + 1.0, content_s=[n + 0.5, n + 1.0]) for n in range(120)]


def side(outcomes: Sequence[Outcome], *, loop_s: Sequence[float] = (0.0,), cpu_share: float = 0.1) -> Summary:
    """A side's numbers."""
    return summarize("http://t", outcomes, parse_slos("ttft=500ms"), loop_s=loop_s, cpu_share=cpu_share)


def said(outcomes: list[Outcome], *, loop_s: Sequence[float] = (0.0,), cpu_share: float = 0.1) -> str:
    """The warnings of a run of one side."""
    found = warnings(
        [side(outcomes, loop_s=loop_s, cpu_share=cpu_share)], outcomes, None, again=False, open_loop=True
    )
    return "\n".join(found)


@cache
def report_of(sides: int) -> Report:
    """A run of one side, or of two that differ."""
    outcomes = list(traffic(Random(3), 12, slower=3.0))
    own = [[each for each in outcomes if each.side == nth] for nth in range(sides)]
    gauges = [[Gauge(1.0, "http://e", KV_USE, 0.25), Gauge(2.0, "http://e", KV_USE, 0.5)] for _ in own]
    comparison = compare(outcomes, Random(3), exchanges=199, resamples=99) if sides == 2 else None
    summaries = [side(each) for each in own]
    kept = outcomes if sides == 2 else own[0]
    return Report("1.0", 0.0, SETTING, summaries, comparison, ["careful <now>"], False, kept, gauges)


def test_a_sound_run_says_nothing() -> None:
    """Enough requests, sent in time, all answered."""
    assert said(PLENTY) == ""


@pytest.mark.parametrize(
    ("outcomes", "kept", "message"),
    [
        ([outcome(sent_s=0.2)] * 120, {}, "this client sent late (p99 200 ms): it is the bottleneck"),
        (PLENTY, {"loop_s": [0.05] * 10}, "this client read late (p99 50 ms)"),
        (PLENTY, {"cpu_share": 0.95}, "used 95% of a processor"),
        (PLENTY[:30], {}, "p99 of 30 requests is their maximum"),
        ([outcome(cached_tokens=None)] * 120, {}, "120 of 120 answers did not say how many tokens were cached"),
        ([outcome(output_tokens=None)] * 120, {}, "120 answers had no token counts"),
        ([*PLENTY, outcome(error=REJECTED)], {}, "1 of 121 requests failed"),
        (
            [outcome(due_s=float(n), sent_s=float(n), ended_s=n * 1.1 + 1.0) for n in range(120)],
            {},
            "it does not keep up with this load",
        ),
    ],
)
def test_what_to_be_careful_about(outcomes: list[Outcome], kept: dict[str, Any], message: str) -> None:
    """Each in words that say why."""
    assert message in said(outcomes, **kept)


def test_a_source_that_began_again_and_few_windows() -> None:
    """Are told as well."""
    few = compare(list(traffic(Random(1), 3)), Random(1))
    found = warnings([side(PLENTY), side(PLENTY)], PLENTY, few, again=True, open_loop=False)
    assert found[0].startswith("the source was through before the end")
    assert found[-1].startswith("only 3 pairs of windows: 10 or more")


class Page(HTMLParser):
    """What a page would load, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loads += [str(value) for name, value in attrs if name in ("src", "href", "xlink:href")]

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("sides", [1, 2])
def test_the_page_needs_nothing_else_and_says_everything(sides: int) -> None:
    """No address is loaded; names are no markup; plots of latency, load, prompt lengths and gauges; both colours."""
    page = report_html(report_of(sides))
    read = Page(page)
    assert read.loads == []
    assert "t<&>.jsonl" in read.text
    assert "careful <now>" in read.text
    assert page.count("<svg") == 8
    assert "KV use by engine" in read.text
    assert "prefers-color-scheme:dark" in page
    assert ('class="worse"' in page) == (sides == 2)


@pytest.mark.parametrize("sides", [1, 2])
def test_the_table_and_json_say_the_same(sides: int) -> None:
    """The hit rate, the median and the verdicts; NO_COLOR gives no colours."""
    report = report_of(sides)
    out = io.StringIO()
    print_report(Console(file=out, width=120, force_terminal=True, _environ={"NO_COLOR": "1"}), report)
    text = out.getvalue()
    assert "\x1b[3" not in text  # no colour; bold may be
    for summary in report.sides:
        assert summary.total.ttft_s is not None
        assert f"{summary.total.ttft_s.p50 * 1000:,.1f}" in text
        assert f"hit rate {summary.total.hit_rate:.1%}" in text
        assert "timeout" in text
    read = msgspec.json.decode(msgspec.json.encode(as_json(report)))
    assert "outcomes" not in read
    assert [one["total"]["hit_rate"] for one in read["sides"]] == [one.total.hit_rate for one in report.sides]
    if sides == 2:
        assert {row["verdict"] for row in read["comparison"]["rows"]} == {"worse", "no difference"}
        assert "worse" in text


def test_a_run_without_anything_can_be_reported() -> None:
    """Nothing measured: no numbers, no division, no plots."""
    empty = Report("1.0", 0.0, SETTING, [side([])], None, [], True, [], [[]])
    page = report_html(empty)
    assert "<svg" not in page
    assert "interrupted" in page
    out = io.StringIO()
    print_report(Console(file=out, width=120), empty)
    assert "0 of 0 requests completed" in out.getvalue()


@pytest.mark.parametrize("terminal", [False, True])
def test_progress(terminal: bool) -> None:
    """A bar with failures and the median of late; elsewhere a line every ten seconds."""
    out = io.StringIO()
    with progress(Console(file=out, force_terminal=terminal, width=100)) as begin:
        ended = begin(3)
        ended(outcome(ended_s=1.0))
        ended(outcome(ended_s=11.0, error="timeout"))
        ended(outcome(ended_s=12.0))
    if terminal:
        assert "3/3" in out.getvalue()
    else:
        assert out.getvalue() == "11 s: 2 of 3 ended, 1 failed, TTFT p50 500 ms lately\n"
