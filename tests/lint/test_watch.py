"""lint.watch: when it lints again."""

from itertools import islice
from pathlib import Path

import pytest
from click.testing import CliRunner

from gateway.cli import cli
from lint.settings import Settings
from lint.watch import changes, stamps


def test_it_lints_again_when_a_file_changes(tmp_path: Path) -> None:
    """At once, and after a file was written, added or removed; not while nothing happens."""
    file, other = tmp_path / "a.py", tmp_path / "b.py"
    file.write_text("x = 1\n")
    steps = iter(
        [
            lambda: None,
            lambda: file.write_text("x = 12\n"),
            lambda: None,
            lambda: other.write_text(""),
            lambda: other.unlink(),
        ]
    )
    waits = 0

    def wait() -> None:
        nonlocal waits
        waits += 1
        next(steps)()

    seen = list(
        islice(changes(lambda: stamps([str(tmp_path), str(tmp_path / "gone")], lambda _: Settings()), wait), 4)
    )
    assert [len(state) for state in seen] == [1, 1, 2, 1]
    assert waits == 5


def test_in_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It reports, again and again, until it is interrupted, which is no failure; a log on standard input is none."""
    (tmp_path / "a.py").write_text("x = 1\n")
    waits = 0

    def wait(_seconds: float) -> None:
        nonlocal waits
        waits += 1
        if waits == 2:
            raise KeyboardInterrupt
        (tmp_path / "a.py").write_text("import x  # noqa: PC101\n")

    monkeypatch.setattr("lint.cli.sleep", wait)
    result = CliRunner().invoke(cli, ["lint", str(tmp_path), "--watch", "--output-format", "concise"])
    assert (result.exit_code, waits) == (0, 2)
    assert result.output.count("PC002") == 1
    assert CliRunner().invoke(cli, ["lint", "-", "--watch"]).exit_code == 2
