"""lint.report: findings for people and for machines."""

import json
from pathlib import Path

import pytest
from rich.console import Console

from lint.examples import HANDBOOK, asked, chat, one
from lint.linter import Report, lint_paths
from lint.registry import rules
from lint.report import TEXT_FORMATS, statistics
from lint.report.full import as_text, write
from lint.sources.examples import template

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


def console(folder: Path, width: int) -> Console:
    return Console(width=width, record=True, file=(folder / "out").open("w"))


def linted(folder: Path) -> Report:
    return lint_paths([str(folder)], list(rules().values()))


def test_a_rule_explains_itself_once(tmp_path: Path) -> None:
    """Help, settings of the gateway and docs stand below the first of its findings; the fix below each."""
    (tmp_path / "a.j2").write_text(template("Today is {{ now() }}.").text)
    (tmp_path / "b.j2").write_text(template("It is {{ now() }}.").text)
    shown = console(tmp_path, 100)
    write(linted(tmp_path), shown)
    text = shown.export_text()
    assert [text.count(f"= {note}: ") for note in ("help", "gateway", "docs", "fix")] == [1, 1, 1, 2]
    assert "2 with --fix --unsafe-fixes." in text
    shown.file.close()


@pytest.mark.parametrize("width", [40, 80, 200])
def test_full_fits_the_terminal(tmp_path: Path, width: int) -> None:
    """Messages and notes are wrapped, the line with the place is cut around it; longer are names and addresses."""
    line = "x" * 300 + " {{ now() }} " + "y" * 300
    (tmp_path / "a.j2").write_text(template(line).text)
    shown = console(tmp_path, width)
    write(linted(tmp_path), shown)
    lines = shown.export_text().splitlines()
    assert [text for text in lines if len(text) > width and "://" not in text and "-->" not in text] == []
    marked = next(at for at, text in enumerate(lines) if text.startswith(" 1 | "))
    assert lines[marked].index("now()") == lines[marked + 1].index("^")
    shown.file.close()


def test_wide_characters(tmp_path: Path) -> None:
    """The caret stands below the place for letters of two columns, too."""
    (tmp_path / "a.j2").write_text(template("\u65e5\u672c {{ now() }}.").text)
    shown = console(tmp_path, 100)
    write(linted(tmp_path), shown)
    lines = shown.export_text().splitlines()
    marked = next(at for at, text in enumerate(lines) if text.startswith(" 1 | "))
    assert lines[marked + 1].index("^") == lines[marked].index("now()") + 2
    shown.file.close()


def test_no_colours_where_none_are_wanted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """NO_COLOR, and output to a file."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in as_text(report(tmp_path), frames=True, plain=False)
    assert "\x1b" not in as_text(report(tmp_path), frames=True, plain=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in as_text(report(tmp_path), frames=True, plain=False)
