"""The closing part: what the linter finds in the requests that the demo has sent, and what mending it is worth."""

from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console
from rich.padding import Padding

from gateway.demo.fleet import EngineShape
from gateway.demo.workload import Workload
from lint.costing import Costing
from lint.linter import Report, lint_paths
from lint.registry import rules
from lint.report.cost import cost_text, summary_lines

NAME: Final = "this traffic"
_SHOWN: Final = ("error", "warning")


def lint_workload(workload: Workload, shape: EngineShape, engines: int, folder: Path) -> Report:
    """Lint the requests of a pass as a log, replayed through one cache as large as all engines'.

    folder: takes the log. The report calls it NAME.
    """
    log = folder / "traffic.jsonl"
    log.write_bytes(b"".join(request.body + b"\n" for request in workload.requests))
    costing = Costing(kv_capacity=engines * shape.kv_capacity, page_tokens=shape.page_size)
    report = lint_paths([str(log)], rules().values(), costing=costing)
    findings = [msgspec.structs.replace(finding, filename=NAME) for finding in report.findings]
    summaries = tuple(summary._replace(filename=NAME) for summary in report.summaries)
    return report._replace(findings=findings, summaries=summaries)


def print_findings(console: Console, report: Report) -> None:
    """What is wrong, what it costs, what to do; the text of no prompt."""
    console.print("[bold]prefixgate lint[/]: what it finds in these requests")
    styles = {"error": "bold red", "warning": "bold yellow"}
    listed = [finding for finding in report.findings if finding.severity in _SHOWN]
    shown = sorted(listed, key=lambda finding: _SHOWN.index(finding.severity))
    for finding in shown:
        head = f"[{styles[finding.severity]}]{finding.severity}[/] {finding.code} {finding.name}"
        console.print(head, highlight=False)
        lines = [finding.message.partition(": '")[0] + "."]
        lines += [f"{cost_text(finding.cost)}."] if finding.cost is not None else []
        lines.append(rules()[finding.code].instead.replace("`", ""))
        for line in lines:
            console.print(Padding(line, (0, 0, 0, 2)), markup=False, highlight=False)
    if not shown:
        console.print("nothing that costs much", highlight=False)
    for summary in report.summaries:
        head, *assumed = summary_lines(summary)
        console.print(head, style="bold", markup=False, highlight=False)
        console.print("\n".join(assumed), markup=False, highlight=False)
