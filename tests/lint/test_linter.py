"""lint.linter: files in, findings out."""

import gzip
import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from lint.examples import HANDBOOK, asked
from lint.linter import Report, Selection, lint_paths, lint_text
from lint.registry import rules
from lint.rule import Document
from prefix.errors import ConfigError

CLOCKS = asked(*(f"Current time: 2026-03-01T10:{minute}:00Z\n{HANDBOOK}" for minute in range(10, 16))).text
ALL = list(rules().values())


def codes(report: Report) -> list[str]:
    return [finding.code for finding in report.findings]


@pytest.mark.parametrize("name", ["log.jsonl", "log.ndjson", "log.json", "LOG.JSONL"])
def test_a_log_by_any_name(tmp_path: Path, name: str) -> None:
    """The suffix says only that it is JSON."""
    (tmp_path / name).write_text(CLOCKS)
    assert codes(lint_paths([str(tmp_path / name)], ALL)) == ["PC101"]


def test_gzip(tmp_path: Path) -> None:
    """A log that is packed is read as it is."""
    (tmp_path / "log.jsonl.gz").write_bytes(gzip.compress(CLOCKS.encode()))
    assert codes(lint_paths([str(tmp_path / "log.jsonl.gz")], ALL)) == ["PC101"]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` is a log."""
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(CLOCKS.encode())))
    (finding,) = lint_paths(["-"], ALL).findings
    assert (finding.code, finding.filename) == ("PC101", "<stdin>.jsonl")


def test_a_folder(tmp_path: Path) -> None:
    """All files that can be read, below it too; hidden ones, links and installed packages are not looked at."""
    for place in ("a", "a/b", ".git", "node_modules"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "log.jsonl").write_text(CLOCKS)
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "app.ts").write_text("")
    report = lint_paths([str(tmp_path)], ALL)
    found = [(Path(finding.filename).relative_to(tmp_path).as_posix(), finding.code) for finding in report.findings]
    assert found == [(".", "PC003"), ("a/b/log.jsonl", "PC101"), ("a/log.jsonl", "PC101")]
    assert report.inspected == 2


def test_nothing_inspected_is_no_pass(tmp_path: Path) -> None:
    """An empty folder is a warning of its own."""
    report = lint_paths([str(tmp_path)], ALL)
    assert [(finding.code, finding.severity) for finding in report.findings] == [("PC003", "warning")]
    assert report.inspected == 0
    assert report.at_least("warning")
    assert not report.at_least("error")
    assert not report.at_least("never")


def test_a_missing_file() -> None:
    """It is named."""
    with pytest.raises(ConfigError, match=r"nowhere\.jsonl: No such file"):
        lint_paths(["nowhere.jsonl"], ALL)


def test_redact() -> None:
    """No text of a prompt is left in a finding."""
    document = asked(*(f"The customer is called {name}.\n{HANDBOOK}" for name in ("Grace", "Barbara", "Edsger")))
    shown = lint_text(*document)
    assert "Grace" in shown[0].message
    (hidden,) = [next(rule.check(_read(document.text), redact=True)) for rule in ALL if rule.code == "PC104"]
    assert "Grace" not in hidden.message
    assert "characters]" in hidden.message


def _read(text: str) -> Document:
    from lint.sources.traffic import read

    return next(read("log.jsonl", io.BytesIO(text.encode())))


@pytest.mark.parametrize(
    ("selection", "included", "excluded"),
    [
        (Selection(), "PC101 PC401 PC003", ""),
        (Selection(select=("PC1",)), "PC101 PC102", "PC401"),
        (Selection(select=("clock-in-prefix",)), "PC101", "PC102"),
        (Selection(ignore=("PC1",)), "PC401", "PC101"),
        (Selection(select=("PC101",), ignore=("PC1",)), "PC101", "PC102"),
        (Selection(select=("PC1",), ignore=("PC102",)), "PC101", "PC102"),
        (Selection(ignore=("PC1",), extend_select=("PC102",)), "PC102 PC401", "PC101"),
    ],
)
def test_selection(selection: Selection, included: str, excluded: str) -> None:
    """The more specific selector decides."""
    chosen = {rule.code for rule in selection.rules()}
    assert chosen >= set(included.split())
    assert chosen.isdisjoint(excluded.split())


def test_an_unknown_rule() -> None:
    """A selector that nothing matches is a mistake."""
    with pytest.raises(ConfigError, match="no rule is called PC999"):
        Selection(select=("PC999",)).rules()


def test_a_file_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often, and however, it is named."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "log.jsonl").write_text(CLOCKS)
    monkeypatch.chdir(tmp_path)
    report = lint_paths(["a/log.jsonl", ".", "./a", str(tmp_path / "a"), "a/../a/log.jsonl"], ALL)
    assert (codes(report), report.inspected) == (["PC101"], 1)


@pytest.mark.parametrize(
    ("name", "selected", "says"),
    [
        ("log.jsonl", "PC504", "nothing was inspected: PC504 needs answers in the log"),
        ("log.jsonl", "PC807", "nothing was inspected: PC807 needs times in the log"),
        ("app.py", "PC911", "nothing was inspected: PC911 needs reported cached tokens in the log"),
        ("app.py", "PC402", "nothing was inspected"),
    ],
)
def test_a_rule_that_cannot_judge_is_no_pass(tmp_path: Path, name: str, selected: str, says: str) -> None:
    """Source for a rule that needs traffic, a log without answers for one that compares them: both are said."""
    (tmp_path / name).write_text(CLOCKS if name.endswith("l") else "PROMPT = 'Be brief.'\n")
    report = lint_paths([str(tmp_path / name)], Selection(select=(selected,)).rules())
    assert [(finding.code, finding.message) for finding in report.findings] == [("PC003", says)]
    assert report.inspected == 0
