"""lint.report: findings for people and for machines."""

import json
from pathlib import Path

from rich.console import Console

from lint.examples import HANDBOOK, asked, chat, one
from lint.linter import Report, lint_paths
from lint.registry import rules
from lint.report import TEXT_FORMATS, statistics
from lint.report.full import write

FIELDS = (
    "code name severity message filename location request pointer start end occurrences recoverable_tokens fix url"
).split()


def report(folder: Path) -> Report:
    """A log with a clock, and a body with an id."""
    log = asked(*(f"Rules,\nnow: 2026-03-01T10:{minute}:00Z\n{HANDBOOK}" for minute in range(10, 14)))
    body = one(chat(f"Request id: 6f0c8f7e-1111-4aaa-8bbb-000000000001\n{HANDBOOK}"))
    for example in (log, body):
        (folder / example.filename).write_text(example.text)
    return lint_paths([str(folder)], list(rules().values()))


def test_json(tmp_path: Path) -> None:
    """A list of objects with the fields of the contract, in order, and what was added to them behind."""
    clock, id_ = json.loads(TEXT_FORMATS["json"](report(tmp_path)))
    assert list(clock) == list(id_)
    assert list(clock)[: len(FIELDS)] == FIELDS
    assert set(list(clock)[len(FIELDS) :]) <= {"cost", "related"}
    assert clock["location"] == {"row": 2, "column": 1}
    assert id_["location"] is id_["request"] is id_["recoverable_tokens"] is None
    assert TEXT_FORMATS["json"](Report([], 1)) == "[]"


def test_concise(tmp_path: Path) -> None:
    """One line a finding, with a place that editors open."""
    lines = TEXT_FORMATS["concise"](report(tmp_path)).splitlines()
    assert lines[0].startswith(f"{tmp_path}/log.jsonl:2:1: PC101 error a clock in /messages/0/content at 12:")
    assert len(lines) == 2


def test_github(tmp_path: Path) -> None:
    """Workflow commands; what would end a property or a line is escaped."""
    first, second = TEXT_FORMATS["github"](report(tmp_path)).splitlines()
    assert first.startswith(f"::error file={tmp_path}/log.jsonl,title=PC101 clock-in-prefix,line=2,col=1::a clock")
    assert "::" in second
    assert "86%25" in first or "%25" in first


def test_sarif(tmp_path: Path) -> None:
    """Version 2.1.0; every result has its rule and its place."""
    sarif = json.loads(TEXT_FORMATS["sarif"](report(tmp_path)))
    (run,) = sarif["runs"]
    assert sarif["version"] == "2.1.0"
    names = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert [names[result["ruleIndex"]] for result in run["results"]] == ["PC101", "PC103"]
    assert run["results"][0]["locations"][0]["physicalLocation"]["region"] == {"startLine": 2, "startColumn": 1}


def test_full(tmp_path: Path) -> None:
    """The line of the text with the value marked, what to do, and where to read on."""
    console = Console(width=200, record=True, file=(tmp_path / "out").open("w"))
    write(report(tmp_path), console)
    shown = console.export_text().splitlines()
    marked = shown.index(" 2 | now: 2026-03-01T10:11:00Z")
    assert shown[marked + 1] == "   |      ^^^^^^^^^^^^^^^^^^^^"
    assert " 1 | Request id: 6f0c8f7e-1111-4aaa-8bbb-000000000001" in shown
    assert shown[-1] == "2 errors; 2 inputs inspected."
    console.file.close()


def test_full_without_frames(tmp_path: Path) -> None:
    """Redacted reports show no text."""
    console = Console(width=200, record=True, file=(tmp_path / "out").open("w"))
    write(report(tmp_path), console, frames=False)
    assert "^^^" not in console.export_text()
    console.file.close()


def test_statistics(tmp_path: Path) -> None:
    """Findings by rule."""
    assert statistics(report(tmp_path)).splitlines() == [
        "    1  PC101  clock-in-prefix",
        "    1  PC103  request-id-in-prefix",
    ]
