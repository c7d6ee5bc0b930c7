"""`prefixgate lint` and `prefixgate rule`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from gateway.cli import cli
from lint.examples import HANDBOOK, asked

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
    for form in ("full", "concise", "json", "github", "sarif"):
        assert "10:10:00" not in run("lint", "-", "--redact", "--output-format", form, stdin=CLOCKS)[1]


def test_rule() -> None:
    """A rule by code or name, all of them, and for machines."""
    assert run("rule", "pc101") == run("rule", "clock-in-prefix")
    assert "## Why it breaks the cache" in run("rule", "PC101")[1]
    assert "PC101  clock-in-prefix" in run("rule")[1]
    assert {"code", "why", "judges"} <= set(json.loads(run("rule", "--json")[1])[0])
    assert run("rule", "PC999")[0] == 1


def test_lint_imports_no_server() -> None:
    """Nor what reads files that are not there."""
    code = "import sys, lint.cli, lint.linter; print(*sys.modules)"
    root = Path(__file__).parents[2]
    modules = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root
    ).stdout
    assert {"aiohttp", "fastapi", "uvicorn", "opentelemetry", "yaml", "rich"}.isdisjoint(modules.split())
