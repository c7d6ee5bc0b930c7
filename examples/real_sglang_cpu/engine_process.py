"""One real SGLang engine on the CPU as a child process: its command line, its start, its end.

The engine leads a process group of its own and writes to its own log. It ends in one of three ways, and each
leaves no process behind: `stop` (or leaving a `with` block) kills the group; `terminate` asks it to drain, as
Kubernetes would; and when the process that started it dies, the kernel kills it (shim/sitecustomize.py). That
last tie is to the *thread* that called `start`, so call it from the main thread. Standard library only.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

SHIM = Path(__file__).with_name("shim")
PORTS = {"http": 0, "kv_events": 1, "kv_replay": 2, "nccl": 3}
PORT_STEP = 10
POLL_S = 0.25
STOP_S = 10.0


class EngineProcessError(Exception):
    """An engine that did not start, or did not do what was asked; one line, names the log where there is one."""


class CannotStartError(EngineProcessError):
    """Nothing was launched: the model is missing or a port is taken."""


@dataclass(frozen=True)
class Options:
    """How an engine is started. Sizes are tokens; `extra` goes to SGLang's command line last, so it wins."""

    model: Path
    served_name: str = "tiny"
    page_size: int = 16
    kv_tokens: int = 32768
    context_length: int = 4096
    max_running: int = 16
    dtype: str = "float32"
    cache_report: bool = True
    kv_events: bool = True
    metrics: bool = True
    extra: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()


@dataclass
class EngineProcess:
    """An engine on `port` (KV events on port + 1, their replay on + 2, torch's store on + 3)."""

    home: Path
    port: int
    options: Options
    host: str = "127.0.0.1"
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    scratch: Path | None = field(default=None, init=False)

    @property
    def url(self) -> str:
        """Base URL, without a slash at the end."""
        return f"http://{self.host}:{self.port}"

    @property
    def log(self) -> Path:
        """Everything the engine printed since its last start."""
        return self.home / "logs" / f"engine-{self.port}.log"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def check_ports(self) -> None:
        """Raise CannotStartError when something listens on one of the engine's ports already."""
        for use, offset in PORTS.items():
            require_free(self.host, self.port + offset, use)

    def start(self) -> None:
        """Check the ports and the model, then launch; returns at once, `wait` says when it is up."""
        if not (self.options.model / "config.json").is_file():
            raise CannotStartError(f"no model in {self.options.model} (no config.json there)")
        self.check_ports()
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.scratch = Path(tempfile.mkdtemp(prefix=f"sglang-{self.port}-"))
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command(self.home, self.host, self.port, self.options),
                env=environment(self.home, self.options, self.scratch),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait(self, timeout_s: float = 300, progress: Callable[[str], None] = lambda _: None) -> None:
        """Block until /health says 200 and the model is the right one; else stop it and raise EngineProcessError."""
        began = time.monotonic()
        said = 0
        try:
            while not self.healthy():
                waited = time.monotonic() - began
                if not self.running():
                    raise EngineProcessError(f"engine on port {self.port} ended while starting: {self.last_words()}")
                if waited > timeout_s:
                    raise EngineProcessError(
                        f"engine on port {self.port} not healthy after {timeout_s:.0f} s; see {self.log}"
                    )
                if int(waited) > said:
                    said = int(waited)
                    progress(f"engine on port {self.port}: starting, {said} s")
                time.sleep(POLL_S)
            self.check_model()
        except BaseException:
            self.stop()
            raise

    def check_model(self) -> None:
        """Raise EngineProcessError when the engine serves another model than the one asked for."""
        served = [model["id"] for model in self.get_json("/v1/models")["data"]]
        if self.options.served_name not in served:
            raise EngineProcessError(
                f"engine on port {self.port} serves {', '.join(served)}, not {self.options.served_name}"
            )

    def running(self) -> bool:
        """Whether the process exists; it may not answer yet, or no more."""
        return self.process is not None and self.process.poll() is None

    def healthy(self) -> bool:
        """Whether /health answers 200. A healthy SGLang takes one second over it: it generates a token."""
        try:
            return self.request("/health", timeout_s=5)[0] == 200
        except OSError:
            return False

    def request(self, path: str, body: Any = None, *, timeout_s: float = 60) -> tuple[int, bytes]:
        """One request, POST with JSON when there is a body: (status, body). OSError when there is no answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=timeout_s) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    def get_json(self, path: str, body: Any = None) -> Any:
        """The parsed answer of a request that must succeed."""
        status, answer = self.request(path, body)
        if status != 200:
            raise EngineProcessError(f"{self.url}{path} answered {status}: {answer[:200].decode(errors='replace')}")
        return json.loads(answer)

    def flush(self, timeout_s: float = 10) -> None:
        """Empty the prefix cache; SGLang refuses while a request runs, so try for a while."""
        deadline = time.monotonic() + timeout_s
        while self.request("/flush_cache", {})[0] != 200:
            if time.monotonic() > deadline:
                raise EngineProcessError(f"engine on port {self.port} did not flush its cache in {timeout_s:.0f} s")
            time.sleep(0.05)

    def terminate(self) -> None:
        """SIGTERM to the server: it says 503 at /health, finishes what runs, ends within about 5 s after that."""
        if self.process is not None:
            self.process.terminate()

    def stop(self) -> None:
        """Kill the whole process group, wait until it is gone, remove its scratch files. Safe to call twice."""
        if self.process is not None:
            segments = shared_memory(self.process.pid)
            self.process.kill()
            self.process.wait()
            kill_group(self.process.pid)
            for segment in segments:
                segment.unlink(missing_ok=True)
        if self.scratch is not None:
            shutil.rmtree(self.scratch, ignore_errors=True)
        self.process = self.scratch = None

    def last_words(self) -> str:
        """The last error line of the log, or its last line, and where the log is."""
        lines = [line.strip() for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        errors = [line for line in lines if "Error:" in line or "error:" in line]
        return f"{(errors or lines or ['it printed nothing'])[-1][:200]} (log: {self.log})"


def command(home: Path, host: str, port: int, options: Options) -> list[str]:
    """SGLang's command line for a small CPU engine."""
    flags = {
        "--model-path": str(options.model),
        "--served-model-name": options.served_name,
        "--host": host,
        "--port": str(port),
        "--nccl-port": str(port + PORTS["nccl"]),
        "--device": "cpu",
        "--dtype": options.dtype,
        "--attention-backend": "torch_native",
        "--sampling-backend": "pytorch",
        "--grammar-backend": "none",
        "--cuda-graph-backend-decode": "disabled",
        "--cuda-graph-backend-prefill": "disabled",
        "--context-length": str(options.context_length),
        "--max-total-tokens": str(options.kv_tokens),
        "--max-running-requests": str(options.max_running),
        "--page-size": str(options.page_size),
    }
    if options.kv_events:
        flags["--kv-events-config"] = json.dumps(
            {
                "publisher": "zmq",
                "topic": "kv-events",
                "endpoint": f"tcp://*:{port + PORTS['kv_events']}",
                "replay_endpoint": f"tcp://*:{port + PORTS['kv_replay']}",
            }
        )
    switches = ["--disable-overlap-schedule", "--sleep-on-idle"]
    switches += ["--enable-cache-report"] * options.cache_report + ["--enable-metrics"] * options.metrics
    python = [str(home / "venv/bin/python"), "-W", "ignore", "-m", "sglang.launch_server"]
    return [*python, *(part for flag in flags.items() for part in flag), *switches, *options.extra]


def environment(home: Path, options: Options, scratch: Path) -> dict[str, str]:
    """The engine's environment: ours, the shim, one thread, no network, its sockets in a directory of its own."""
    return {
        **os.environ,
        "PYTHONPATH": str(SHIM),
        "PREFIXGATE_ENGINE_PARENT": str(os.getpid()),
        "SGLANG_USE_CPU_ENGINE": "1",
        "SGLANG_DISABLED_MODEL_ARCHS": other_architectures(home),
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "TMPDIR": str(scratch),
        **dict(options.environment),
    }


def other_architectures(home: Path) -> str:
    """Every model file of SGLang but Qwen2's, which need not be imported: 2 s of CPU less at each start."""
    models = home.glob("venv/lib/python3*/site-packages/sglang/srt/models/*.py")
    kept = {"__init__", "registry", "utils", "qwen2"}
    return ",".join(sorted(path.stem for path in models if path.stem not in kept))


def require_free(host: str, port: int, use: str) -> None:
    """Raise CannotStartError when something listens on the port already."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("" if use.startswith("kv") else host, port))
        except OSError as error:
            raise CannotStartError(f"port {port} ({use}) cannot be used: {error.strerror}") from error


def shared_memory(group: int) -> list[Path]:
    """The files in /dev/shm that processes of the group have mapped; killed, they leave them behind.

    By inode (the fifth column of maps): a semaphore is mapped under a name that it has no more.
    """
    inodes: set[int] = set()
    for maps in Path("/proc").glob("[0-9]*/maps"):
        try:
            if os.getpgid(int(maps.parent.name)) == group:
                lines = maps.read_text().splitlines()
                inodes |= {int(line.split()[4]) for line in lines if "/dev/shm/" in line}
        except OSError:
            continue
    return [path for path in Path("/dev/shm").iterdir() if path.stat().st_ino in inodes]


def kill_group(group: int) -> None:
    """SIGKILL to every process of the group, then wait until none is left."""
    try:
        deadline = time.monotonic() + STOP_S
        while time.monotonic() < deadline:
            os.killpg(group, signal.SIGKILL)
            time.sleep(0.02)
    except ProcessLookupError:
        return
