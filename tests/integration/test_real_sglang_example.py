"""examples/real_sglang_cpu as a person uses it: one line about a mistake, and never a process left behind."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.integration.engines import HOME, Engines, free_ports

RUN = Path(__file__).parents[2] / "examples" / "real_sglang_cpu" / "run.py"
START_S = 400
GONE_S = 10.0


@pytest.fixture
def port(engines: Engines) -> int:
    """A free port for one engine."""
    return next(free_ports(1))


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the example to its end."""
    command = [sys.executable, str(RUN), *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=START_S, env={**os.environ, **environment}, check=False
    )


def start(port: int, *arguments: str) -> subprocess.Popen[str]:
    """Start one engine with the example; the caller ends it."""
    command = [sys.executable, str(RUN), "start", "--engines", "1", "--port", str(port), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def processes(port: int) -> list[str]:
    """Command lines of running engines on this port."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if f"--port {port} " in line and "launch_server" in line:
            found.append(line)
    return found


def all_gone(port: int) -> bool:
    """Whether the engines' processes are gone, or go in a moment: a killed parent's kernel does it."""
    deadline = time.monotonic() + GONE_S
    while processes(port) and time.monotonic() < deadline:
        time.sleep(0.1)
    return processes(port) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["start", "--engines", "0"], "argument --engines: 0 is not a whole number above 0"),
        (["start", "--port", "40000"], "argument --port: 40000 is not between 1024 and 32767"),
        (["start", "--page-size", "big"], "argument --page-size: big is not a whole number above 0"),
        (["start", "--dtype", "int8"], "argument --dtype: invalid choice: 'int8'"),
        (["start", "--model", "/nonexistent"], "error: no model in /nonexistent (no config.json there)"),
    ],
)
def test_a_wrong_command_line(arguments: list[str], message: str) -> None:
    """Exit 2 and a line that says what is wrong, before anything is installed or started."""
    result = run(*arguments)
    assert result.returncode == 2
    assert message in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("offset", [0, 1, 2, 10])
def test_a_taken_port(offset: int) -> None:
    """HTTP, KV events and replay ports of every engine are checked first: exit 2, one line, nothing started."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        base = 20000 + server.getsockname()[1] % 10000
    with socket.create_server(("127.0.0.1", base + offset)):
        result = run("start", "--engines", "2", "--port", str(base))
    assert result.returncode == 2
    assert re.fullmatch(
        rf"error: port {base + offset} \(\w+\) cannot be used: Address already in use\n", result.stderr
    )


@pytest.mark.engines
def test_setup_is_done_once(engines: Engines) -> None:
    """A second set-up finds its markers and changes nothing."""
    before = (HOME / "venv").stat().st_mtime_ns
    result = run("setup")
    assert (result.returncode, result.stderr) == (0, f"ready: {HOME}\n")
    assert (HOME / "venv").stat().st_mtime_ns == before


@pytest.mark.engines
def test_an_engine_that_never_gets_healthy(port: int) -> None:
    """Exit 1 after the time limit, one line with the log's place, no process left."""
    result = run("start", "--engines", "1", "--port", str(port), "--timeout", "2")
    assert result.returncode == 1
    assert re.search(
        rf"^error: engine on port {port} not healthy after 2 s; see .*\.log$", result.stderr, re.MULTILINE
    )
    assert processes(port) == []


@pytest.mark.engines
def test_an_engine_of_another_model(port: int) -> None:
    """Exit 1, one line that names both models, no process left."""
    result = run("start", "--engines", "1", "--port", str(port), "--", "--served-model-name", "other")
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == f"error: engine on port {port} serves other, not tiny"
    assert processes(port) == []


@pytest.mark.engines
def test_engines_end_with_the_command(port: int) -> None:
    """It prints the gateway's command line, warns of a missing cache report, and takes its engines along."""
    with start(port, "--no-cache-report") as child:
        assert child.stdout is not None
        assert child.stderr is not None
        printed = "".join(iter(child.stdout.readline, "Ctrl-C stops the engines.\n"))
        assert f"prefixgate serve --engine http://127.0.0.1:{port}\n" in printed
        assert processes(port) != []
        child.send_signal(signal.SIGTERM)
        assert child.wait(30) == 130
        warnings = [line for line in child.stderr if line.startswith("warning:")]
    assert len(warnings) == 1
    assert "without --enable-cache-report" in warnings[0]
    assert processes(port) == []


@pytest.mark.engines
def test_engines_end_with_a_killed_command(port: int) -> None:
    """Even SIGKILL, which nobody can handle, leaves no engine behind, and neither does it while they start."""
    with start(port) as child:
        deadline = time.monotonic() + START_S
        while processes(port) == [] and time.monotonic() < deadline:
            time.sleep(0.05)
        child.kill()
        child.communicate()
    assert all_gone(port)
