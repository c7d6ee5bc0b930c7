"""Taking the linter up in a project that has findings: baselines, changed lines only, comments for what is there."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gateway.cli import cli
from lint.examples import HANDBOOK, asked
from lint.fingerprint import fingerprints
from lint.linter import lint_paths
from lint.registry import rules
from lint.sources.examples import app, prompt_file, template

CLOCK = app("f'Now: {datetime.now()}. ' + POLICY", imports="from datetime import datetime").text
LOG = asked(*(f"Current time: 2026-03-01T10:{minute}:00Z\n{HANDBOOK}" for minute in range(10, 16))).text


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["lint", *arguments, "--output-format", "concise"])


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module with a clock, a template with another, a log."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.py").write_text(CLOCK)
    (tmp_path / "a.j2").write_text(template("Today is {{ now() }}.").text)
    (tmp_path / "log.jsonl").write_text(LOG)
    return tmp_path


def test_baseline(project: Path) -> None:
    """What was there when it was written does not count; what comes does, what goes is said."""
    assert run(".", "--baseline", "base.json").exception is not None
    written = run(".", "--baseline", "base.json", "--write-baseline")
    assert (written.exit_code, f"Wrote 3 findings to {project}/base.json" in written.output) == (0, True)
    assert run(".", "--baseline", "base.json").output == ""
    (project / "new.py").write_text(CLOCK)
    assert [line.partition(":")[0] for line in run(".", "--baseline", "base.json").output.splitlines()] == ["new.py"]
    (project / "a.j2").write_text("Be brief.")
    (project / "new.py").unlink()
    assert "1 of the baseline are gone" in run(".", "--baseline", "base.json").output
    first = (project / "base.json").read_text()
    run(".", "--baseline", "base.json", "--write-baseline")
    assert len(json.loads((project / "base.json").read_text())["findings"]) == 2
    assert first.splitlines()[1].strip().startswith('{"file": "a.j2", "code": "PC101"')


def test_baseline_in_settings_and_from_another_folder(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name is relative to the file of settings; names in it are relative to itself."""
    (project / "prefixgate.toml").write_text('[lint]\nbaseline = "base.json"\n')
    (project / "sub").mkdir()
    assert run(".", "--write-baseline").exit_code == 0
    monkeypatch.chdir(project / "sub")
    assert run("..").exit_code == 0
    assert run("..", "--isolated").exit_code == 1


@pytest.mark.parametrize(
    "content", ["", "[]", '{"version": 2, "findings": []}', '{"version": 1, "findings": [1]}', "[" * 9999]
)
def test_no_baseline(project: Path, content: str) -> None:
    """What is none is named."""
    (project / "base.json").write_text(content)
    result = run(".", "--baseline", "base.json")
    assert "base.json" in str(result.exception)
    assert "--write-baseline needs a file" in str(run(".", "--write-baseline").exception)


def test_fingerprints_survive_line_moves(project: Path) -> None:
    """Lines above or below, and white space in the line, change nothing; the line itself does."""

    def marks(text: str) -> list[str]:
        (project / "app.py").write_text(text)
        return fingerprints(lint_paths(["app.py"], list(rules().values())).findings)

    before = marks(CLOCK)
    assert marks(f"# a comment\n\n{CLOCK}\n# more\n") == before
    assert marks(CLOCK.replace("{'role': 'system',", "{ 'role':  'system',".replace("{ ", "{"))) == before
    assert marks(CLOCK.replace("Now:", "Then:")) != before
    twice = marks(CLOCK + CLOCK.replace("def ask", "def ask_again"))
    assert twice[0] == before[0]
    assert len(set(twice)) == 2


def git(*arguments: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main", *arguments],
        check=True,
        capture_output=True,
    )


@pytest.fixture
def repository(project: Path) -> Path:
    """The project, committed."""
    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    return project


def test_diff_base(repository: Path) -> None:
    """Only lines that are new since the commit, and files that git does not know yet; from a folder below too."""
    assert run(".", "--diff-base", "HEAD").output == ""
    text = CLOCK + CLOCK.replace("def ask", "def again").replace("from datetime import datetime\n", "")
    (repository / "app.py").write_text("# moved\n" + text)
    (repository / "odd näme\t.py").write_text(CLOCK)
    found = run(".", "--diff-base", "HEAD").output.splitlines()
    assert [line.split(":")[0] for line in found] == ["app.py", "odd näme\\t.py"]
    assert int(found[0].split(":")[1]) > 14
    git("add", ".")
    git("commit", "-m", "second")
    assert run(".", "--diff-base", "HEAD").output == ""
    assert len(run(".", "--diff-base", "HEAD~1").output.splitlines()) == 2
    (repository / "sub").mkdir()
    os.chdir(repository / "sub")
    assert len(run("..", "--diff-base", "HEAD~1").output.splitlines()) == 2


@pytest.mark.parametrize("ref", ["nowhere", "--output=owned", "-p"])
def test_diff_base_that_is_no_commit(repository: Path, ref: str) -> None:
    """git's answer in one line; an option smuggled in as a commit is none."""
    assert "--diff-base: " in str(run(".", f"--diff-base={ref}").exception)
    assert not (repository / "owned").exists()


def test_diff_base_runs_nothing_of_the_repository(repository: Path) -> None:
    """Filters, diff drivers and monitors that it defines are switched off."""
    owned = repository / "owned"
    command = f"touch {owned}; cat"
    (repository / ".gitattributes").write_text("*.py filter=evil diff=evil\n")
    for key in (
        "filter.evil.clean",
        "filter.evil.process",
        "diff.evil.command",
        "diff.evil.textconv",
        "core.fsmonitor",
    ):
        git("config", key, command)
    git("config", "filter.evil.required", "true")
    (repository / "app.py").write_text("# moved\n" + CLOCK.replace("Now:", "Then:"))
    assert len(run("app.py", "--diff-base", "HEAD").output.splitlines()) == 1
    assert not owned.exists()


def test_diff_base_without_git(project: Path) -> None:
    """Outside of a repository it says so."""
    assert "--diff-base: " in str(run(".", "--diff-base", "HEAD").exception)


def test_add_noqa(project: Path) -> None:
    """A comment at each finding, in every language; then there is nothing left, and nothing unused."""
    multi = app('f"""Now: {datetime.now()}\n{POLICY}"""', imports="from datetime import datetime").text
    (project / "multi.py").write_text(multi)
    (project / "prompt.yaml").write_text(prompt_file("Current time: {{ timestamp }}").text)
    (project / "held.py").write_text(CLOCK.replace("+ POLICY},", "+ POLICY},  # noqa: E501"))
    result = run(".", "--add-noqa")
    assert "Added comments for 5 findings; 1 are where no comment can be" in result.output
    assert run(".", "--exclude", "*.jsonl").output == ""
    assert "# noqa: E501, PC101" in (project / "held.py").read_text()
    assert (project / "a.j2").read_text().startswith("{# noqa: PC101 #}Today is")
    assert "content: |  # noqa: PC101" in (project / "prompt.yaml").read_text()
    assert '{POLICY}"""},  # noqa: PC101' in (project / "multi.py").read_text()


def test_add_noqa_where_no_comment_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A continued line cannot have one: it is left as it was."""
    monkeypatch.chdir(tmp_path)
    text = CLOCK.replace("f'Now: {datetime.now()}. ' + POLICY", "f'Now: {datetime.now()}. ' \\\n + POLICY")
    Path("app.py").write_text(text)
    assert "Added comments for 0 findings; 1 are" in run("app.py", "--add-noqa").output
    assert Path("app.py").read_text() == text
