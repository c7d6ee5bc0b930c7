"""examples/quickstart does what its README says."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "quickstart" / "run.sh"


@pytest.mark.slow
def test_the_second_question_finds_the_prompt_cached() -> None:
    """It runs from a checkout, shows a hit on the same worker, and leaves nothing running."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1] - 10
    environment = os.environ | {"PYTHON": sys.executable, "PORT": str(port)}
    done = subprocess.run([str(SCRIPT)], env=environment, capture_output=True, text=True, check=True, timeout=60)
    shown = re.findall(r"\? +(\d+) of (\d+) tokens cached on (\S+)", done.stdout)
    (first, total, worker), (second, _, same) = shown
    assert int(first) == 0
    assert int(second) > 0.8 * int(total)
    assert worker == same
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=1)
