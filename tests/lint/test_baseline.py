"""lint.baseline and lint.fingerprint: what was there when the linter was adopted does not count."""

import json
from pathlib import Path

import pytest

from lint.fingerprint import fingerprints
from lint.linter import lint_paths
from lint.registry import rules
from tests.lint.adopting import CLOCK, run


def test_baseline(adopting: Path) -> None:
    """What was there when it was written does not count; what comes does, what goes is said."""
    assert run(".", "--baseline", "base.json").exception is not None
    written = run(".", "--baseline", "base.json", "--write-baseline")
    assert (written.exit_code, f"Wrote 3 findings to {adopting}/base.json" in written.output) == (0, True)
    assert run(".", "--baseline", "base.json").output == ""
    (adopting / "new.py").write_text(CLOCK)
    assert [line.partition(":")[0] for line in run(".", "--baseline", "base.json").output.splitlines()] == ["new.py"]
    (adopting / "a.j2").write_text("Be brief.")
    (adopting / "new.py").unlink()
    assert "1 of the baseline are gone" in run(".", "--baseline", "base.json").output
    first = (adopting / "base.json").read_text()
    run(".", "--baseline", "base.json", "--write-baseline")
    assert len(json.loads((adopting / "base.json").read_text())["findings"]) == 2
    assert first.splitlines()[1].strip().startswith('{"file": "a.j2", "code": "PC101"')


def test_baseline_in_settings_and_from_another_folder(adopting: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name is relative to the file of settings; names in it are relative to itself."""
    (adopting / "prefixgate.toml").write_text('[lint]\nbaseline = "base.json"\n')
    (adopting / "sub").mkdir()
    assert run(".", "--write-baseline").exit_code == 0
    monkeypatch.chdir(adopting / "sub")
    assert run("..").exit_code == 0
    assert run("..", "--isolated").exit_code == 1


@pytest.mark.parametrize(
    "content", ["", "[]", '{"version": 2, "findings": []}', '{"version": 1, "findings": [1]}', "[" * 9999]
)
def test_no_baseline(adopting: Path, content: str) -> None:
    """What is none is named."""
    (adopting / "base.json").write_text(content)
    result = run(".", "--baseline", "base.json")
    assert "base.json" in str(result.exception)
    assert "--write-baseline needs a file" in str(run(".", "--write-baseline").exception)


def test_fingerprints_survive_line_moves(adopting: Path) -> None:
    """Lines above or below, and white space in the line, change nothing; the line itself does."""

    def marks(text: str) -> list[str]:
        (adopting / "app.py").write_text(text)
        return fingerprints(lint_paths(["app.py"], list(rules().values())).findings)

    before = marks(CLOCK)
    assert marks(f"# a comment\n\n{CLOCK}\n# more\n") == before
    assert marks(CLOCK.replace("{'role': 'system',", "{ 'role':  'system',".replace("{ ", "{"))) == before
    assert marks(CLOCK.replace("Now:", "Then:")) != before
    twice = marks(CLOCK + CLOCK.replace("def ask", "def ask_again"))
    assert twice[0] == before[0]
    assert len(set(twice)) == 2
