"""lint.changed: only lines that are new since a commit."""

import os
from pathlib import Path

import pytest

from tests.lint.adopting import CLOCK, git, run


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


def test_diff_base_without_git(adopting: Path) -> None:
    """Outside of a repository it says so."""
    assert "--diff-base: " in str(run(".", "--diff-base", "HEAD").exception)
