"""lint.settings and lint.nearest: which settings hold for which file."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from gateway.cli import cli
from lint.costing import Costing
from lint.examples import HANDBOOK, asked
from lint.nearest import Nearest
from lint.settings import Settings
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
        ('ignore = ["PC1"]', ("--extend-select", "clock-in-prefix"), (1, 2)),
        ('select = ["PC4"]', (), (0, 0)),
        ('select = ["PC4"]', ("--config", 'select=["PC1"]'), (1, 2)),
        ("", ("--select", "clock-in-prefix"), (1, 2)),
        ("", ("--select", "PC4,PC5"), (0, 0)),
        ('fail-on = "never"', (), (0, 2)),
        ('fail-on = "never"', ("--fail-on", "error"), (1, 2)),
        ("", ("--config", "fail-on='never'"), (0, 2)),
        ('exclude = ["old"]', (), (1, 1)),
        ('exclude = ["old"]', ("--exclude", "logs/*.jsonl", "--ignore", "PC003"), (0, 0)),
        ('per-file-ignores = { "old/*" = ["PC1"] }', (), (1, 1)),
        ('per-file-ignores = { "*.jsonl" = ["clock-in-prefix"] }', (), (0, 0)),
        ('per-file-ignores = { "logs" = ["PC4"] }', (), (1, 2)),
        ('per-file-ignores = { "logs" = ["PC1"] }', ("--per-file-ignores", "old/*:PC101,PC2"), (0, 0)),
        ("max-warnings = 3", (), (1, 2)),
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
        ("ignores = []", "no setting 'ignores', did you mean 'ignore'"),
        ("nothing-like-it = []", "no setting 'nothing-like-it'$"),
        ("ignore = 1", "ignore must be a list of strings"),
        ('fail-on = "sometimes"', "fail-on must be one of"),
        ("per-file-ignores = []", "per-file-ignores must be a table"),
        ("respect-gitignore = 1", "respect-gitignore must be true or false"),
        ("max-warnings = -1", "max-warnings must be a number"),
        ("baseline = 1", "baseline must be a string"),
        ('price = "cheap"', "price must be UNCACHED/CACHED"),
        ("price = true", "price must be a string"),
        ("prefill-speed = 0", "prefill-speed must be a number of tokens a second"),
        ("kv-capacity = 0", "kv-capacity must be a number, 1 or more"),
        ("page-size = 5000", "page-size must be a number of tokens, 4,096 at most"),
        ("extend = 1", "extend must be the path"),
        ("extend = 'pyproject.toml'", "not of one in a circle"),
        ("extend = 'missing.toml'", "missing.toml"),
        ("ignore = [", "pyproject.toml"),
    ],
)
def test_mistakes(tmp_path: Path, settings: str, message: str) -> None:
    """What cannot be used names the file and the key."""
    (tmp_path / "pyproject.toml").write_text(f"[tool.prefixgate.lint]\n{settings}\n")
    with pytest.raises(ConfigError, match=message):
        Nearest({})(tmp_path)


def test_the_nearest_file_that_has_any(tmp_path: Path) -> None:
    """From the folder upwards; one without settings is passed over; prefixgate.toml comes before pyproject.toml."""
    (tmp_path / "pyproject.toml").write_text('[tool.prefixgate.lint]\nignore = ["PC1"]\n')
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    nearest = Nearest({})
    assert nearest(tmp_path / "a" / "b").ignore == ("PC1",)
    assert nearest(tmp_path / "a").folder == tmp_path
    text = '[lint]\nextend = "../../pyproject.toml"\nselect = ["PC2"]\n'
    (tmp_path / "a" / "b" / "prefixgate.toml").write_text(text)
    (tmp_path / "a" / "b" / "pyproject.toml").write_text("[tool.prefixgate.lint]\n")
    inner = Nearest({"fail-on": "never"})(tmp_path / "a" / "b")
    assert (inner.select, inner.ignore, inner.fail_on) == (("PC2",), ("PC1",), "never")
    assert Nearest({}, isolated=True)(tmp_path) == Settings(folder=Path.cwd())
    assert Settings().ignored("x", "PC101", "clock-in-prefix") is False


def test_each_file_by_its_own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one run, files of two projects are judged by two files of settings."""
    project(tmp_path, "")
    (tmp_path / "old" / "prefixgate.toml").write_text('[lint]\nignore = ["PC101"]\n')
    assert lint(tmp_path, monkeypatch) == (1, 1)
    file = str(tmp_path / "old" / "prefixgate.toml")
    assert lint(tmp_path, monkeypatch, "--config", file, "--ignore=PC4") == (1, 2)


def test_what_losses_are_worth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project's prices and caches hold for its logs, those of the command line before them."""
    text = 'price = "3/0.3"\nprefill-speed = 9000\nkv-capacity = 5000\npage-size = 32'
    project(tmp_path, text)
    assert Nearest({})(tmp_path / "logs").costing == Costing(5000, 32, (3.0, 0.3), 9000.0)
    assert Nearest({"price": 2})(tmp_path).costing.price == (2.0, 0.0)
    assert Settings().costing == Costing()
    monkeypatch.chdir(tmp_path)
    outputs = [
        CliRunner().invoke(cli, ["lint", "logs", *options]).output
        for options in ((), ("--kv-capacity", "7000"), ("--isolated",))
    ]
    assert ["in money" in output for output in outputs] == [True, True, False]
    assert ["5,000 tokens of KV cache each in pages of 32" in output for output in outputs] == [True, False, False]
    assert "7,000 tokens of KV cache each in pages of 32" in outputs[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--config", "ignore=PC1"), "neither a file nor KEY=VALUE in TOML"),
        (("--config", "nowhere.toml"), "nowhere.toml"),
        (("--config", "ignroe=[]"), "did you mean 'ignore'"),
        (("--ignore", "PC999"), "no rule is called PC999"),
        (("--ignore", "clock-in-prefx"), "did you mean clock-in-prefix"),
        (("--fixable", "PC999"), "no rule is called PC999"),
        (("--per-file-ignores", "tests/**"), "PATTERN:CODES"),
        (("--per-file-ignores", "tests/**:PC999"), "no rule is called PC999"),
    ],
)
def test_mistakes_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], message: str
) -> None:
    """They are named, with the nearest that would do."""
    monkeypatch.chdir(project(tmp_path, ""))
    result = CliRunner().invoke(cli, ["lint", ".", *options])
    assert message in result.output + str(result.exception)


def test_show_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What holds, and where it is from, as TOML that can be used again."""
    import tomllib

    monkeypatch.chdir(project(tmp_path, 'per-file-ignores = { "old/*" = ["PC1"] }\nfail-on = "error"'))
    shown = CliRunner().invoke(cli, ["lint", "logs", "--show-settings", "--ignore", "PC2"]).output
    assert shown.startswith(f"# {tmp_path / 'pyproject.toml'}\n")
    table = tomllib.loads(shown)
    assert (table["fail-on"], table["ignore"]) == ("error", ["PC2"])
    assert table["per-file-ignores"] == {"old/*": ["PC1"]}
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / "prefixgate.toml").write_text("[lint]\n" + shown)
    assert Nearest({})(tmp_path / "again").fail_on == "error"
