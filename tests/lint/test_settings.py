"""lint.settings: `[tool.prefixgate.lint]`."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from gateway.cli import cli
from lint.examples import HANDBOOK, asked
from lint.settings import Settings, load_settings
from prefix.errors import ConfigError

CLOCKS = asked(*(f"Current time: 2026-03-01T10:{minute}:00Z\n{HANDBOOK}" for minute in range(10, 16))).text


def project(folder: Path, settings: str) -> Path:
    """A project with two logs and these settings."""
    (folder / "pyproject.toml").write_text(f"[tool.prefixgate.lint]\n{settings}\n")
    for place in ("logs", "old"):
        (folder / place).mkdir()
        (folder / place / "a.jsonl").write_text(CLOCKS)
    return folder


def lint(folder: Path, monkeypatch: pytest.MonkeyPatch, *options: str) -> tuple[int, int]:
    """Exit code and how many findings, linted from within the project."""
    monkeypatch.chdir(folder)
    result = CliRunner().invoke(cli, ["lint", ".", "--output-format", "concise", *options])
    return result.exit_code, len(result.output.splitlines())


@pytest.mark.parametrize(
    ("settings", "options", "expected"),
    [
        ("", (), (1, 2)),
        ('ignore = ["PC101"]', (), (0, 0)),
        ('ignore = ["PC101"]', ("--ignore", "PC4"), (1, 2)),
        ('ignore = ["PC101"]', ("--isolated",), (1, 2)),
        ('select = ["PC4"]', (), (0, 0)),
        ('fail-on = "never"', (), (0, 2)),
        ('fail-on = "never"', ("--fail-on", "error"), (1, 2)),
        ('exclude = ["old"]', (), (1, 1)),
        ('per-file-ignores = { "old/*" = ["PC1"] }', (), (1, 1)),
        ('per-file-ignores = { "*.jsonl" = ["clock-in-prefix"] }', (), (0, 0)),
        ('per-file-ignores = { "logs" = ["PC4"] }', (), (1, 2)),
    ],
)
def test_settings(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: str,
    options: tuple[str, ...],
    expected: tuple[int, int],
) -> None:
    """They are the defaults; the command line wins."""
    assert lint(project(tmp_path, settings), monkeypatch, *options) == expected


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("ignores = []", "did you mean 'ignore'"),
        ("ignore = 1", "ignore must be a list of strings"),
        ('fail-on = "sometimes"', "fail-on must be one of"),
        ("per-file-ignores = []", "per-file-ignores must be a table"),
        ("ignore = [", "pyproject.toml"),
    ],
)
def test_mistakes(tmp_path: Path, settings: str, message: str) -> None:
    """What cannot be used names the file and the key."""
    (tmp_path / "pyproject.toml").write_text(f"[tool.prefixgate.lint]\n{settings}\n")
    with pytest.raises(ConfigError, match=message):
        load_settings(tmp_path)


def test_the_nearest_file_that_has_any(tmp_path: Path) -> None:
    """From the folder upwards; one without settings is passed over."""
    (tmp_path / "pyproject.toml").write_text('[tool.prefixgate.lint]\nignore = ["PC1"]\n')
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert load_settings(tmp_path / "a" / "b").codes == {"ignore": ("PC1",)}
    assert load_settings(tmp_path / "a").folder == tmp_path
    assert Settings().ignored("x", "PC101", "clock-in-prefix") is False
