"""Installs SGLang for the CPU and makes the tiny model, once: a marker file remembers what was installed.

Layout of the home directory: venv/ (1.6 GB), tiny/ (the model, 6 MB), logs/, and two markers. Standard library only.
"""

import hashlib
import os
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
REQUIREMENTS, NO_DEPENDENCIES = HERE / "requirements.txt", HERE / "requirements-nodeps.txt"
TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"
Say = Callable[[str], None]


class InstallError(Exception):
    """An installation step that failed; one line, names the log."""


def home() -> Path:
    """Where engines live: $PREFIXGATE_ENGINES, else .engines in the project."""
    return Path(os.environ.get("PREFIXGATE_ENGINES") or HERE.parents[1] / ".engines").absolute()


def installed(where: Path) -> bool:
    """Whether both markers say that nothing has changed since the last set-up."""
    return engine_current(where) and model_current(where)


def engine_current(where: Path) -> bool:
    """Whether the venv holds these requirements."""
    return _marked(where / "venv.sha256", REQUIREMENTS, NO_DEPENDENCIES) and _python(where).exists()


def model_current(where: Path) -> bool:
    """Whether the tiny model is the one these sources make."""
    return _marked(where / "tiny.sha256", *_model_sources()) and (where / "tiny/config.json").exists()


def set_up(where: Path, say: Say) -> None:
    """Do what is missing: nothing (under a second), the model, or everything (about two minutes)."""
    where.mkdir(parents=True, exist_ok=True)
    if not engine_current(where):
        install_engine(where, say)
        _mark(where / "venv.sha256", REQUIREMENTS, NO_DEPENDENCIES)
    if not model_current(where):
        say("making the tiny model")
        _run([str(_python(where)), str(HERE / "make_tiny_model.py"), str(where / "tiny")], where, say)
        _mark(where / "tiny.sha256", *_model_sources())


def install_engine(where: Path, say: Say) -> None:
    """venv, then SGLang's dependencies, then SGLang itself without the CUDA stack that it declares."""
    say(f"installing SGLang for the CPU into {where} (about 2 minutes, 1.6 GB)")
    if not _python(where).exists():
        venv.create(where / "venv", with_pip=True)
    pip = [str(_python(where)), "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off"]
    try:
        _run([*pip, "-r", str(REQUIREMENTS)], where, say)
    except InstallError:
        say(f"pip's own sources have no CPU build of torch; asking {TORCH_CPU_INDEX}")
        _run([*pip, "-r", str(REQUIREMENTS), "--extra-index-url", TORCH_CPU_INDEX], where, say)
    _run([*pip, "--no-deps", "-r", str(NO_DEPENDENCIES)], where, say)


def _run(command: list[str], where: Path, say: Say) -> None:
    """Run a step; its output goes to setup.log, and what pip collects or installs is said as it happens."""
    log = where / "setup.log"
    with log.open("a") as out:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            for line in child.stdout or ():
                out.write(line)
                if line.startswith(("Collecting", "Installing", "Successfully")):
                    say(line.strip()[:100])
            code = child.wait()
        except BaseException:
            child.kill()
            child.wait()
            raise
    if code != 0:
        raise InstallError(f"`{' '.join(command[:5])} ...` failed with exit code {code}; see {log}")


def _python(where: Path) -> Path:
    return where / "venv/bin/python"


def _model_sources() -> tuple[Path, ...]:
    return HERE / "make_tiny_model.py", HERE / "chat_template.jinja"


def _digest(sources: tuple[Path, ...]) -> str:
    version = f"python {sys.version_info.major}.{sys.version_info.minor}\n".encode()
    return hashlib.sha256(version + b"".join(path.read_bytes() for path in sources)).hexdigest()


def _marked(marker: Path, *sources: Path) -> bool:
    return marker.exists() and marker.read_text().strip() == _digest(sources)


def _mark(marker: Path, *sources: Path) -> None:
    marker.write_text(_digest(sources) + "\n")
