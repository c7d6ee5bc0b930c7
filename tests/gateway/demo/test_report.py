"""gateway.demo.report and progress: what is printed, on a terminal and elsewhere."""

import io

from rich.console import Console

from gateway.demo.fleet import EngineShape
from gateway.demo.load import Outcome
from gateway.demo.progress import ProcessorTime, busy_share, processor_time, progress
from gateway.demo.report import print_results, print_setting
from gateway.demo.result import PASSES, PassResult, measured
from gateway.demo.tally import Tokens
from gateway.demo.workload import DemoRequest, Workload

LABELS = ("support", "acme", "v2")


def printed(terminal: bool = False, **environment: str) -> tuple[Console, io.StringIO]:
    out = io.StringIO()
    return Console(file=out, width=80, force_terminal=terminal, _environ=environment), out


def result(number: int, cached: int, ttft: float, error: str | None = None) -> PassResult:
    metrics = (
        "# TYPE prefixgate_input_tokens_total counter\n"
        'prefixgate_input_tokens_total{route="support",customer="acme",prompt_version="v2"} 1000\n'
        "# TYPE prefixgate_cached_tokens_total counter\n"
        f'prefixgate_cached_tokens_total{{route="support",customer="acme",prompt_version="v2"}} {cached}\n'
    )
    request = DemoRequest(0.0, *LABELS, body=b"x" * 1024)
    outcomes = [Outcome(request, 0.0, ttft, 1000, cached)]
    if error:
        outcomes.append(Outcome(request, 0.0, error=error))
    return measured(PASSES[number], outcomes, metrics, cpu_share=None)


def test_tables() -> None:
    """Three passes, their differences and the bound are on 80 columns; what is broken is pointed at."""
    console, out = printed()
    results = [result(0, 100, 0.4), result(1, 250, 0.2), result(2, 500, 0.1)]
    print_results(console, results, {LABELS: Tokens(1000, 625)})
    text = out.getvalue()
    lines = [" ".join(line.replace("│", " ").split()) for line in text.splitlines()]
    assert "round robin + off 10.0% 400 ms 400 ms 0" in lines
    assert "prefixgate 50.0% 100 ms 100 ms 0" in lines
    assert "prefixgate vs round robin + off +40.0 -75% -75%" in lines
    assert "prefixgate vs least load + safe +25.0 -50% -50%" in lines
    assert "acme 10.0% 25.0% 50.0% +40.0 62.5%" in lines
    assert "support v2 ² 10.0% 25.0% 50.0% +40.0 62.5%" in lines
    assert "warning" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_warnings_follow_the_tables() -> None:
    """A failed request is said, with its pass and its error."""
    console, out = printed()
    results = [result(0, 100, 0.4), result(1, 250, 0.2, "HTTP 503"), result(2, 500, 0.1)]
    print_results(console, results, {LABELS: Tokens(1000, 625)})
    assert "warning least load + safe: 1 of 2 requests failed, first: HTTP 503" in out.getvalue()


def test_setting_says_what_is_real() -> None:
    """Before anything runs, the reader learns what is real, simulated and made up, the load and the KV size."""
    console, out = printed()
    request = DemoRequest(0.0, *LABELS, body=b"x" * 2048)
    print_setting(console, Workload((request,) * 30, 10.0, 90.0), 4, EngineShape("m", 120_000))
    text = " ".join(out.getvalue().split())
    for fact in ("real The gateway", "simulated 4 engines", "1/4 of the trace's", "90x", "3 a second, 2.0 KiB"):
        assert fact in text
    assert "120,000 tokens an engine, 480,000 in all" in text


def test_progress_lines() -> None:
    """Off a terminal there is a line for every quarter, without control characters."""
    console, out = printed()
    with progress(console, "pass", 8) as finished:
        for done in range(1, 9):
            finished(done)
    assert out.getvalue().splitlines() == [
        f"pass: {percent} %, {done} of 8 requests" for percent, done in ((25, 2), (50, 4), (75, 6), (100, 8))
    ]


def test_progress_bar() -> None:
    """On a terminal there is a bar; NO_COLOR takes its colours away."""
    console, out = printed(terminal=True, NO_COLOR="1", TERM="xterm")
    with progress(console, "pass", 8) as finished:
        finished(8)
    assert "8/8" in out.getvalue()
    assert "\x1b[3" not in out.getvalue()


def test_busy_share() -> None:
    """The busy share is what was not idle; unknown is not zero."""
    assert busy_share(ProcessorTime(100, 200), ProcessorTime(175, 300)) == 0.25
    assert busy_share(None, ProcessorTime(1, 2)) is None
    assert busy_share(ProcessorTime(1, 2), ProcessorTime(1, 2)) is None
    now = processor_time()
    assert now is None or 0 < now.idle <= now.total
