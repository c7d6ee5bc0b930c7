"""A project that has findings already, and the command run in it."""

import subprocess

from click.testing import CliRunner, Result

from gateway.cli import cli
from lint.examples import asked
from lint.sources.examples import app

CLOCK = app("f'Now: {datetime.now()}. ' + POLICY", imports="from datetime import datetime").text
PLANTS = "Water the plants on the stairs before noon, and not again before the soil is dry. " * 30
LOG = asked(*(f"The clock says 2026-03-01T10:{minute}:00Z\n{PLANTS}" for minute in range(10, 16))).text


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["lint", *arguments, "--output-format", "concise"])


def git(*arguments: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main", *arguments],
        check=True,
        capture_output=True,
    )
