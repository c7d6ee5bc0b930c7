"""lint.call_sites: calls of a project's own that hand over a prompt."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gateway.cli import cli
from lint.call_sites import parse_call_sites
from lint.linter import Linter
from lint.registry import rules
from lint.settings import Settings
from prefix.errors import ConfigError

TEXT = """
import time
RULES = "Follow the policy. " * 400

def run(question):
    return core.dispatch(7, f"{time.time()} {RULES}", q=question)
"""


@pytest.mark.parametrize("site", ["dispatch(number, rules=system)", "core.dispatch(number, prompt)"])
def test_a_declared_site_is_one(site: str) -> None:
    """By the end of its name, by position, in what it takes; without the declaration nothing is known of it."""
    unknown, known = (
        Linter(lambda _, s=settings: s, rules().values()) for settings in (Settings(), Settings(call_sites=(site,)))
    )
    assert unknown.text("app.py", TEXT.encode()) == []
    assert [finding.code for finding in known.text("app.py", TEXT.encode())] == ["PC101"]
    assert known.text("app.py", TEXT.replace("core.", "core.other_").encode()) == []


def test_a_project_declares_its_sites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In its settings, each file by the nearest; on the command line too; a mistake names the file and the key."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inner").mkdir()
    for name in ("app.py", "inner/app.py"):
        (tmp_path / name).write_text(TEXT)
    declares = "[tool.prefixgate.lint]\ncall-sites = [{}]\n"
    (tmp_path / "inner" / "pyproject.toml").write_text(declares.format('"dispatch(number, rules=system)"'))
    assert codes(".") == [("inner/app.py", "PC101")]
    given = "call-sites=['core.dispatch(number, prompt)']"
    assert codes(".", "--config", given) == [("app.py", "PC101"), ("inner/app.py", "PC101")]
    shown = CliRunner().invoke(cli, ["lint", ".", "--show-settings", "--config", given]).output
    assert 'call-sites = ["core.dispatch(number, prompt)"]' in shown
    (tmp_path / "pyproject.toml").write_text(declares.format('"dispatch"'))
    error = str(CliRunner().invoke(cli, ["lint", "."]).exception)
    assert "pyproject.toml: call-sites: call site 'dispatch': write it as" in error


def codes(*arguments: str) -> list[tuple[str, str]]:
    """The findings of the command line: where, and which."""
    output = CliRunner().invoke(cli, ["lint", *arguments, "--output-format", "json"]).output
    return [(Path(finding["filename"]).as_posix(), finding["code"]) for finding in json.loads(output)]


@pytest.mark.parametrize("site", ["dispatch", "dispatch()", "dispatch(a)", "dispatch(a=b)", "dis patch(prompt)", ""])
def test_what_is_no_site(site: str) -> None:
    """A declaration that says nothing of a prompt is refused, with how to write it."""
    with pytest.raises(ConfigError, match="write it as"):
        parse_call_sites([site])
