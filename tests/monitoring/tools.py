"""Debian's prometheus and promtool, as tests run them."""

import shutil
import subprocess
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "monitoring"


def tool(name: str) -> str:
    """Where `prometheus` or `promtool` is. Fails the test, never skips it, where it is not installed."""
    found = shutil.which(name)
    if found is None:
        pytest.fail(f"{name} is missing: apt-get install --no-install-recommends prometheus", pytrace=False)
    return found


def promtool(*arguments: str, cwd: Path = EXAMPLES, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    """What promtool says; it is not checked."""
    command = [tool("promtool"), *arguments]
    return subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, check=False, timeout=60)


def said(process: subprocess.CompletedProcess[bytes]) -> str:
    """Everything a process printed."""
    return (process.stdout + process.stderr).decode()
