"""The project of tests.lint.adopting, as fixtures."""

from pathlib import Path

import pytest

from lint.sources.examples import template
from tests.lint.adopting import CLOCK, LOG, git


@pytest.fixture
def adopting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module with a clock, a template with another, a log."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.py").write_text(CLOCK)
    (tmp_path / "a.j2").write_text(template("Today is {{ now() }}.").text)
    (tmp_path / "log.jsonl").write_text(LOG)
    return tmp_path


@pytest.fixture
def repository(adopting: Path) -> Path:
    """The project, committed."""
    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    return adopting
