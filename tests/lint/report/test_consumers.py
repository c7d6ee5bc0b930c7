"""lint.report: each format as the program that reads it takes it, also for what is odd in names and texts."""

import json
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, fromstring

import jsonschema
import pytest

from lint.examples import HANDBOOK, asked, chat, one
from lint.linter import Report, lint_paths
from lint.registry import rules
from lint.report import TEXT_FORMATS
from lint.sources.examples import app, template

SCHEMAS = Path(__file__).parents[2] / "data" / "schemas"
ODD = "odd, name: 100% \N{SNOWMAN}.jsonl"


def schema(name: str) -> Any:
    return json.loads((SCHEMAS / name).read_text(encoding="utf-8"))


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Report:
    """Findings of every kind of input, from a folder with odd names in it, linted from within it and from outside."""
    (tmp_path / "pro ject").mkdir()
    monkeypatch.chdir(tmp_path / "pro ject")
    files = {
        ODD: asked(*(f"Rules,\nnow: 2026-03-01T10:{minute}:00Z ]]>\n{HANDBOOK}" for minute in range(10, 14))).text,
        "body.json": one(chat(f"Request id: 6f0c8f7e-1111-4aaa-8bbb-000000000001\n{HANDBOOK}")).text,
        "app.py": app("f'Now: {datetime.now()}. ' + POLICY", imports="from datetime import datetime").text,
        "a.j2": template("Today is {{ now() }}.").text,
        "broken.jsonl": "{\n",
        "prompt.txt": "Be\x00 brief.  \r\n",
        "../outside.py": "import os  # noqa: PC101\n",
    }
    for name, text in files.items():
        Path(name).write_text(text, encoding="utf-8", newline="")
    return lint_paths([".", str(tmp_path / "outside.py")], list(rules().values()))


EMPTY = Report([], 1)


def test_sarif(report: Report) -> None:
    """Valid by the schema of SARIF 2.1.0, with fixes, and a fingerprint for each result."""
    validator = jsonschema.Draft7Validator(schema("sarif-2.1.0.json"))
    for one_report in (report, EMPTY):
        log = json.loads(TEXT_FORMATS["sarif"](one_report))
        assert [error.message for error in validator.iter_errors(log)] == []
        assert len(log["runs"][0]["results"]) == len(one_report.findings)
    results = json.loads(TEXT_FORMATS["sarif"](report))["runs"][0]["results"]
    uris = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in results]
    assert "odd%2C%20name%3A%20100%25%20%E2%98%83.jsonl" in uris
    assert sum(uri.startswith("file:///") for uri in uris) == 1
    assert len({result["partialFingerprints"]["prefixgate/v1"] for result in results}) == len(results)
    assert {result["fixes"][0]["description"]["text"] for result in results if "fixes" in result} == {
        "safe fix",
        "unsafe fix",
    }


def test_sarif_would_be_refused(report: Report) -> None:
    """The schema is one that finds mistakes."""
    log = json.loads(TEXT_FORMATS["sarif"](report))
    log["runs"][0]["results"][0]["level"] = "fatal"
    assert not jsonschema.Draft7Validator(schema("sarif-2.1.0.json")).is_valid(log)


def test_gitlab(report: Report) -> None:
    """Code Quality: valid by its documented format; fingerprints all different; paths relative to the project."""
    report = report._replace(findings=[f for f in report.findings if "outside" not in f.filename])
    validator = jsonschema.Draft7Validator(schema("gitlab-code-quality.json"))
    issues = json.loads(TEXT_FORMATS["gitlab"](report))
    assert [error.message for error in validator.iter_errors(issues)] == []
    assert len({issue["fingerprint"] for issue in issues}) == len(report.findings)
    assert {issue["location"]["path"] for issue in issues} >= {ODD, "app.py", "a.j2"}
    assert json.loads(TEXT_FORMATS["gitlab"](EMPTY)) == []


@pytest.mark.parametrize("missing", ["description", "fingerprint", "severity", "location", "begin", "path"])
def test_gitlab_would_be_refused(report: Report, missing: str) -> None:
    """GitLab reads none behind an entry without one of these, or with a line that is no integer."""
    validator = jsonschema.Draft7Validator(schema("gitlab-code-quality.json"))
    issue = next(one for one in json.loads(TEXT_FORMATS["gitlab"](report)) if one["location"]["path"] == "app.py")
    assert validator.is_valid([issue])
    lines, location = issue["location"]["lines"], issue["location"]
    for owner in (issue, location, lines):
        owner.pop(missing, None)
    assert not validator.is_valid([issue])
    lines["begin"] = "1"
    assert not validator.is_valid([issue])


def _check(element: Element, known: dict[str, Any]) -> None:
    rules_of = known[element.tag]
    assert set(rules_of["required"]) <= set(element.attrib) <= set(rules_of["attributes"])
    for child in element:
        assert child.tag in rules_of["children"]
        _check(child, known)


def test_junit(report: Report) -> None:
    """Well-formed XML of the elements and attributes of junit-10.xsd, with as many failures as it says."""
    for one_report in (report, EMPTY):
        root = fromstring(TEXT_FORMATS["junit"](one_report).encode())
        _check(root, schema("junit.json"))
        assert len(list(root.iter("failure"))) == len(one_report.findings)
        assert sum(int(suite.attrib["failures"]) for suite in root) == len(one_report.findings)
        assert sum(int(suite.attrib["tests"]) for suite in root) == len(list(root.iter("testcase"))) > 0


def _decoded(command: str) -> tuple[str, dict[str, str], str]:
    """What GitHub's runner makes of a line (actions/runner, ActionCommand.TryParseV2)."""
    head, _, data = command.removeprefix("::").partition("::")
    name, _, listed = head.partition(" ")
    fields = dict(pair.split("=", 1) for pair in listed.split(","))
    for code, char in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        fields = {key: value.replace(code, char) for key, value in fields.items()}
        data = data.replace(code, char)
    return name, fields, data


def test_github(report: Report) -> None:
    """Each line is a command that the runner reads back to the same file, place and message."""
    lines = TEXT_FORMATS["github"](report).splitlines()
    assert len(lines) == len(report.findings)
    for line, finding in zip(lines, report.findings, strict=True):
        name, fields, message = _decoded(line)
        assert name == {"error": "error", "warning": "warning", "info": "notice"}[finding.severity]
        assert (fields["file"], message) == (finding.filename, finding.message)
        assert fields.get("line") == (str(finding.location.row) if finding.location else None)


def test_json_lines(report: Report) -> None:
    """The same findings as JSON, one a line."""
    lines = [json.loads(line) for line in TEXT_FORMATS["json-lines"](report).splitlines()]
    assert lines == json.loads(TEXT_FORMATS["json"](report))
    assert TEXT_FORMATS["json-lines"](EMPTY) == ""


def test_the_order_is_that_of_files_and_places(report: Report) -> None:
    """Twice the same run is twice the same report, sorted."""
    again = lint_paths([".", "../outside.py"], list(rules().values()))
    assert [f.code for f in again.findings if "outside" not in f.filename] == [
        f.code for f in report.findings if "outside" not in f.filename
    ]
    places = [(f.filename, f.location.row if f.location else 0) for f in report.findings]
    assert places == sorted(places)
