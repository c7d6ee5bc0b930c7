"""`prefixgate lint` and `prefixgate rule`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from gateway.cli import cli
from gateway.config_file import load_config
from lint.examples import HANDBOOK, asked
from lint.registry import rules
from lint.report import TEXT_FORMATS
from lint.rule import Rule

DATED = asked(*(f"Today is 2026-03-0{day}.\n{HANDBOOK}" for day in (1, 1, 1, 1, 1, 1, 2, 2))).text
CLOCKS = asked(*(f"Current time: 2026-03-01T10:{minute}:00Z\n{HANDBOOK}" for minute in range(10, 16))).text


def run(*arguments: str, stdin: str = "") -> tuple[int, str]:
    result = CliRunner().invoke(cli, list(arguments), input=stdin)
    return result.exit_code, result.output


@pytest.mark.parametrize(
    ("text", "options", "code"),
    [
        (CLOCKS, "", 1),
        (CLOCKS, "--exit-zero", 0),
        (CLOCKS, "--ignore PC101", 0),
        (CLOCKS, "--fail-on never", 0),
        (CLOCKS, "--fail-on error", 1),
        (CLOCKS, "--statistics", 1),
        (DATED, "", 0),
        (DATED, "--fail-on info", 1),
        ("", "", 1),
        ("{", "", 1),
        (CLOCKS, "--select PC9999", 1),
        (CLOCKS, "--output-format nonsense", 2),
    ],
)
def test_exit_codes(text: str, options: str, code: int) -> None:
    """1 for a finding at or above --fail-on and for nothing inspected, 2 for usage (named errors: gateway.cli)."""
    assert run("lint", "-", *options.split(), stdin=text)[0] == code


def test_json_output() -> None:
    """Machines read it, whatever is found."""
    assert [
        finding["code"] for finding in json.loads(run("lint", "-", "--output-format", "json", stdin=CLOCKS)[1])
    ] == ["PC101"]


def test_redact() -> None:
    """No value of a prompt is shown, in any format."""
    for form in ("full", *TEXT_FORMATS):
        assert "10:10:00" not in run("lint", "-", "--redact", "--output-format", form, stdin=CLOCKS)[1]


def test_rule() -> None:
    """A rule by code or name, all of them, and for machines."""
    assert run("rule", "pc101") == run("rule", "clock-in-prefix")
    assert "## Why it breaks the cache" in run("rule", "PC101")[1]
    assert "PC101  clock-in-prefix" in run("rule")[1]
    assert {"code", "why", "judges"} <= set(json.loads(run("rule", "--json")[1])[0])
    assert run("rule", "PC999")[0] == 1
    assert run("rule", "PC1")[0] == 2


def test_rule_says_how_it_is_mended() -> None:
    """Fixes, settings of the gateway, an example of each kind, the first version; for people and for machines."""
    text = run("rule", "PC101")[1]
    for part in ("## Bad", "## Good", "Since 0.1.0", "`--fix --unsafe-fixes`", "hoist: {mode: rewrite, kinds:"):
        assert part in text
    facts = json.loads(run("rule", "--all", "--output-format", "json")[1])
    assert [fact["code"] for fact in facts] == list(rules())
    clock = next(fact for fact in facts if fact["code"] == "PC101")
    assert (clock["fix"], clock["since"], clock["bad"][0]["filename"]) == ("unsafe", "0.1.0", "app.py")
    assert run("rule", "--all")[1].count("## Bad") == len(rules())


@pytest.mark.parametrize("rule", [rule for rule in rules().values() if rule.gateway], ids=lambda rule: rule.code)
def test_settings_for_the_gateway(rule: Rule, tmp_path: Path) -> None:
    """What a rule says of the gateway is a route that the gateway takes."""
    settings = "".join(f"    {line}\n" for line in rule.gateway.splitlines())
    (tmp_path / "gateway.yaml").write_text(f"routes:\n  NAME:\n{settings}")
    route = load_config(tmp_path / "gateway.yaml", {}).routes["NAME"]
    assert route.level in ("safe", "normalize", "hoist")
    assert (route.level == "hoist") == bool(route.hoist.kinds)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ("", 1),
        ("--max-warnings 0", 1),
        ("--max-warnings 1", 0),
        ("--max-warnings 1 --fail-on info", 1),
        ("--fail-on error", 0),
    ],
)
def test_max_warnings(tmp_path: Path, options: str, code: int) -> None:
    """So many warnings pass, and no error; a finding below them only counts when it is asked for."""
    (tmp_path / "a.py").write_text("import x  # noqa: PC101\n")
    assert run("lint", str(tmp_path / "a.py"), *options.split())[0] == code


def test_output_file(tmp_path: Path) -> None:
    """The report goes there and nowhere else, without colours; a place that cannot be written is named."""
    out = tmp_path / "report.txt"
    assert run("lint", "-", "-o", str(out), stdin=CLOCKS) == (1, "")
    assert out.read_text().startswith("error[PC101]")
    failed = CliRunner().invoke(cli, ["lint", "-", "-o", "/nowhere/x"], input=CLOCKS)
    assert "cannot be written" in str(failed.exception)


def test_lint_imports_no_server() -> None:
    """Nor what reads files that are not there."""
    code = "import sys, lint.cli, lint.linter; print(*sys.modules)"
    root = Path(__file__).parents[2]
    modules = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root
    ).stdout
    assert {"aiohttp", "fastapi", "uvicorn", "opentelemetry", "yaml", "rich"}.isdisjoint(modules.split())
