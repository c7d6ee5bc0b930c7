"""A server as a child process: its start, its health, its end. Standard library only."""

import hashlib
import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self


class ServerError(Exception):
    """A server could not be set up, or did not start; one line."""


@dataclass
class ChildServer:
    """One server; use as a context manager. environment: beside this process's own. start_s: how long it may take."""

    port: int
    command: list[str]
    log: Path
    cwd: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    start_s: float = 60.0
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def restart(self) -> None:
        """The same again, with an empty cache."""
        self.stop()
        self.start()

    def start(self) -> None:
        """Start it; it answers when this returns. Raises ServerError."""
        with self.log.open("wb") as log:
            environment = os.environ | dict(self.environment)
            self._process = subprocess.Popen(self.command, stdout=log, stderr=log, cwd=self.cwd, env=environment)
        deadline = time.monotonic() + self.start_s
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.url}/health", timeout=5):
                    return
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.05)
        self.stop()
        raise ServerError(f"{Path(self.command[0]).name} did not start: see {self.log}")

    def stop(self) -> None:
        """Ask it to end, and see to it."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def run(command: list[str]) -> None:
    """A step of a set-up. Raises ServerError with its last line."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise ServerError(f"`{' '.join(command[:4])} ...` failed: {' '.join(last)}")


def digest(sources: Iterable[Path]) -> str:
    """What a set-up was made of."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
