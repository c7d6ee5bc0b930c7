"""docs/lint.md: every command in it runs, and what it says of settings and comments is so."""

import gzip
import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from gateway.cli import cli
from lint.examples import HANDBOOK, asked
from lint.linter import lint_text
from lint.nearest import Nearest
from lint.settings import Settings
from lint.sources.examples import app, template

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "lint.md").read_text(encoding="utf-8")
COMMANDS = [
    line
    for block in re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL)
    for line in block.splitlines()
    if line.partition(" ")[0] != "pip"
]
LOG = asked(*(f"Current time: 2026-03-01T10:{minute}:00Z\n{HANDBOOK}" for minute in range(10, 16))).text


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with something of everything, committed."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "app.py").write_text(
        app(
            "f'Now: {datetime.now()}. ' + POLICY + json.dumps(user)",
            imports="import json\nfrom datetime import datetime",
        ).text
    )
    (folder / "a.j2").write_text(template("Today is {{ now() }}.").text)
    (folder / "log.jsonl").write_text(LOG)
    (folder / "log.jsonl.gz").write_bytes(gzip.compress(LOG.encode()))
    author = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    for command in (["init", "-b", "main"], ["add", "."], ["commit", "-m", "first"]):
        subprocess.run(["git", *author, *command], cwd=folder, check=True, capture_output=True)
    return folder


def test_every_command_runs(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the guide: none is misspelt, none raises; the reports are where they are said to be."""
    monkeypatch.chdir(project)
    assert len(COMMANDS) > 20
    for command in COMMANDS:
        feed, pipe, line = command.rpartition("|")
        stdin = subprocess.run(["sh", "-c", feed], check=True, capture_output=True).stdout if pipe else b""
        tool, *arguments = shlex.split(line, comments=True)
        assert tool == "prefixgate"
        result = CliRunner().invoke(cli, arguments, input=stdin)
        assert result.exit_code in (0, 1), (command, result.output)
        assert result.exception is None or isinstance(result.exception, SystemExit), (command, result.exception)
    for name in ("findings.json", "findings.sarif", "gl-code-quality-report.json", "junit.xml", "lint-baseline.json"):
        assert (project / name).stat().st_size > 0


def test_settings_in_the_guide(tmp_path: Path) -> None:
    """All keys there are, each of its type."""
    (block,) = re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL)
    table = tomllib.loads(block)["tool"]["prefixgate"]["lint"]
    assert table.keys() - {"extend"} == {name.replace("_", "-") for name in Settings._fields} - {"folder", "file"}
    (tmp_path / "pyproject.toml").write_text("[tool.prefixgate.lint]\n")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "pyproject.toml").write_text(block)
    assert Nearest({})(tmp_path / "inner").max_warnings == 10


def test_comments_in_the_guide() -> None:
    """Each of them is one: none suppresses anything in that file, so all are reported as unused."""
    (block,) = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    rows = [f.location.row for f in lint_text("app.py", block) if f.code == "PC002" and f.location]
    assert rows == [1, 2, 3, 5]
