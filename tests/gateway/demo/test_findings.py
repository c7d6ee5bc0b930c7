"""gateway.demo.findings: the two habits that the demo puts in on purpose are what the linter finds in its traffic."""

import io
from pathlib import Path

from rich.console import Console

from gateway.demo.findings import NAME, lint_workload, print_findings
from gateway.demo.fleet import EngineShape
from gateway.demo.workload import build_workload
from gateway.trace_file import BUNDLED_BLOCK_TOKENS, BUNDLED_TRACE, read_trace


def test_the_demo_is_read_right(tmp_path: Path) -> None:
    """The clock and the shuffled tools, each once, with what mending them is worth; nothing else of weight."""
    trace = read_trace(BUNDLED_TRACE)
    workload = build_workload(trace, block_tokens=BUNDLED_BLOCK_TOKENS, count=200, seconds=5, model="m")
    report = lint_workload(workload, EngineShape("m", 112_000), 4, tmp_path)
    found = [finding for finding in report.findings if finding.severity != "info"]
    assert {finding.code for finding in found} == {"PC101", "PC401"}
    (summary,) = report.summaries
    assert summary.hit_rate_after > summary.hit_rate_before + 0.05
    console = Console(file=io.StringIO(), width=80)
    print_findings(console, report)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "clock-in-prefix" in text
    assert f"{NAME}: hit rate" in text
    assert str(tmp_path) not in text
    assert "UTC" not in text
