"""`prefixgate lint --fix` and what goes with it."""

import difflib
import stat
import subprocess
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from gateway.cli import cli
from lint.fixes.edits import apply, compatible
from lint.fixes.files import decoded, read, replace
from lint.fixes.fixer import fixed
from lint.linter import lint_text
from lint.rule import Edit, Finding, Fix
from lint.sources.examples import app, template
from prefix.errors import ConfigError

CLOCK = app("f'Now: {datetime.now()}. ' + POLICY", imports="from datetime import datetime").text
ORDER = app("POLICY + json.dumps(user) + ''.join(set(docs))", imports="import json").text


def run(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(cli, ["lint", *arguments], input=stdin)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clock (unsafe), an order (safe), a prompt with CRLF (safe)."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clock.py").write_text(CLOCK)
    (tmp_path / "order.py").write_text(ORDER)
    (tmp_path / "prompt.txt").write_bytes(b"Be brief.\r\nCafe\xcc\x81 \r\n")
    return tmp_path


def test_safe_fixes(project: Path) -> None:
    """`--fix` applies those and no others, says how many, and reports what is left."""
    result = run(".", "--fix", "--output-format", "concise")
    assert "Fixed 4 findings in 2 files." in result.output
    assert result.exit_code == 1
    assert "PC101" in result.output
    assert "PC303" not in result.output
    assert (project / "prompt.txt").read_bytes() == "Be brief.\nCaf\xe9\n".encode()
    assert "json.dumps(user, sort_keys=True) + ''.join(sorted(set(docs)))" in (project / "order.py").read_text()
    assert (project / "clock.py").read_text() == CLOCK
    assert run(".", "--fix").output.count("Fixed") == 0


def test_unsafe_fixes(project: Path) -> None:
    """On demand; then only hints are left."""
    result = run(".", "--fix", "--unsafe-fixes", "--show-fixes")
    assert result.exit_code == 0
    assert "clock.py:\n  1 x PC101 clock-in-prefix" in result.output
    assert "POLICY + f'\\nNow: {datetime.now()}. '" in (project / "clock.py").read_text()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ("--fix-only", 0),
        ("--fix-only --exit-non-zero-on-fix", 1),
        ("--fix --unsafe-fixes --exit-non-zero-on-fix", 1),
        ("--fix --exit-zero", 0),
        ("--fix --fail-on never", 0),
        ("--diff", 1),
        ("--diff --select PC101", 0),
        ("--diff --select PC101 --unsafe-fixes", 1),
        ("--diff --unfixable PC3", 0),
        ("--diff --fixable PC303", 1),
    ],
)
def test_exit_codes(project: Path, options: str, code: int) -> None:
    """Of what is left, of having fixed something, or of what would be."""
    assert run(".", *options.split()).exit_code == code


def test_diff_is_a_patch_and_changes_nothing(project: Path) -> None:
    """git applies it, and gets what `--fix` would write."""
    before = {file.name: file.read_bytes() for file in project.iterdir()}
    patch = CliRunner().invoke(cli, ["lint", ".", "--diff", "--unsafe-fixes"]).stdout_bytes
    assert {file.name: file.read_bytes() for file in project.iterdir()} == before
    subprocess.run(["git", "apply", "-p0", "-"], input=patch, check=True, cwd=project)
    patched = {file.name: file.read_bytes() for file in project.iterdir()}
    for name, raw in before.items():
        (project / name).write_bytes(raw)
    run(".", "--fix-only", "--unsafe-fixes")
    assert {file.name: file.read_bytes() for file in project.iterdir()} == patched


def test_a_diff_of_a_file_without_a_last_line_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says so, as patch wants it."""
    monkeypatch.chdir(tmp_path)
    Path("prompt.txt").write_text("Be brief. ")
    assert run("prompt.txt", "--diff").stdout.splitlines()[-4:] == [
        "-Be brief. ",
        "\\ No newline at end of file",
        "+Be brief.",
        "\\ No newline at end of file",
    ]


def test_standard_input(project: Path) -> None:
    """`--stdin-filename` says what it is; the fixed text goes to standard output, the report beside it."""
    result = CliRunner().invoke(cli, ["lint", "-", "--stdin-filename", "x.py", "--fix"], input=ORDER)
    assert result.stdout == ORDER.replace("(user)", "(user, sort_keys=True)").replace(
        "(set(docs))", "(sorted(set(docs)))"
    )
    assert "Nothing found" in result.stderr
    assert run("-", "--stdin-filename", "x.py", "--diff", stdin=ORDER).exit_code == 1
    assert "x.py:9" in run("-", "--stdin-filename", "x.py", "--output-format", "concise", stdin=CLOCK).output
    assert (
        CliRunner().invoke(cli, ["lint", "-", "--stdin-filename", "x.py", "--fix"], input="x = 1\n").stdout
        == "x = 1\n"
    )


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (ORDER.replace("\n", "\r\n").encode(), "a.py"),
        (b"\xef\xbb\xbf" + ORDER.encode(), "a.py"),
        (b"# coding: latin-1\n# \xe4\xf6\n" + ORDER.encode("latin-1"), "a.py"),
        (ORDER.replace("json.dumps(user)", "'\u00dc' + json.dumps(user)").encode(), "a.py"),
        (template("Today is {{ now() }}.").text.replace("\n", "\r\n").encode(), "a.j2"),
        (b"\xef\xbb\xbf" + template("Today is {{ now() }}.").text.encode(), "a.j2"),
    ],
    ids=["crlf", "bom", "latin-1", "utf-8", "jinja-crlf", "jinja-bom"],
)
def test_files_keep_their_ways(tmp_path: Path, raw: bytes, name: str) -> None:
    """Encoding, byte order mark, line ends and mode; a link stays a link."""
    file = tmp_path / "real" / name
    file.parent.mkdir()
    file.write_bytes(raw)
    file.chmod(0o750)
    link = tmp_path / name
    link.symlink_to(file)
    run(str(link), "--fix-only", "--unsafe-fixes")
    after = file.read_bytes()
    assert after != raw
    assert link.is_symlink()
    assert stat.S_IMODE(file.stat().st_mode) == 0o750
    assert after[:3] == raw[:3] or name == "a.j2"
    assert after.startswith(b"\xef\xbb\xbf") == raw.startswith(b"\xef\xbb\xbf")
    assert after.count(b"\r\n") == raw.count(b"\r\n")
    assert after.count(b"\n") == raw.count(b"\n")
    changed = [
        op for op in difflib.SequenceMatcher(None, raw, after, autojunk=False).get_opcodes() if op[0] != "equal"
    ]
    assert 0 < len(changed) <= 6
    assert list(file.parent.iterdir()) == [file]


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    """Nothing of another program's is written over."""
    file = tmp_path / "a.py"
    file.write_text("a")
    source = decoded(str(file), b"a")
    assert source is not None
    file.write_text("b")
    with pytest.raises(ConfigError, match="changed meanwhile"):
        replace(source, "c")
    assert file.read_text() == "b"


def test_a_fix_that_breaks_the_file_is_refused() -> None:
    """A fix whose outcome is no Python is not applied; the others of its pass are."""
    breaks = Fix("safe", (Edit(0, 0, "("),))

    def lint(text: str) -> list[Finding]:
        found = lint_text("app.py", text)
        return [msgspec.structs.replace(f, fix=breaks) if f.code == "PC303" else f for f in found]

    result = fixed(ORDER, lint(ORDER), lint, lambda _: True)
    assert result.text == ORDER.replace("(set(docs))", "(sorted(set(docs)))")
    assert [finding.code for finding in result.applied] == ["PC305"]
    assert [finding.code for finding in result.refused] == ["PC303"]


def test_edits_that_overlap_wait_for_the_next_pass() -> None:
    """Of two fixes at one place the first is applied; both are, in the end."""
    a, b, c = (Fix("safe", (Edit(start, end, "x"),)) for start, end in ((0, 4), (2, 6), (6, 8)))
    assert compatible([b, c, a]) == [a, c]
    assert compatible([Fix("safe", (Edit(3, 3, "y"),)), a]) == [a]
    assert apply("0123456789", [Edit(6, 8, "x"), Edit(0, 4, "x")]) == "x45x89"


def test_a_file_that_is_gone() -> None:
    """It is named."""
    with pytest.raises(ConfigError, match="nowhere: No such file"):
        read("nowhere")


def test_unknown_encoding(tmp_path: Path) -> None:
    """A file that cannot be decoded is not fixed."""
    assert decoded("a.py", b"# coding: nonsense\n") is None
    assert decoded("a.txt", b"\xff") is None


def test_redacted(project: Path) -> None:
    """Fixing needs the text; the report of what is left shows none of it. A diff would, so it is refused."""
    result = run(".", "--fix", "--redact", "--output-format", "json")
    assert '"fix":{' not in result.stdout
    assert "PC101" in result.stdout
    assert "sort_keys" in (project / "order.py").read_text()
    assert "--redact hides" in str(run(".", "--diff", "--redact").exception)


def test_as_a_hook(project: Path) -> None:
    """Named files are excluded by the settings too, and having nothing to look at is no finding."""
    (project / "prefixgate.toml").write_text('[lint]\nexclude = ["clock.py"]\n')
    assert run("clock.py").exit_code == 1
    assert run("clock.py", "--hook").output == "Nothing found; 0 inputs inspected.\n"
    assert run("order.py", "clock.py", "--hook").exit_code == 1
