"""Running a model's code: only in a sandbox of the operating system, never without one.

bubblewrap (`bwrap`, https://github.com/containers/bubblewrap) gives the process namespaces of its own: no network, a
read-only system, an empty home, nothing of the caller's environment; limits on time, memory, processes and file size
are set inside it before the code starts.
"""

import asyncio
import shutil
import sys
from pathlib import Path
from typing import Final

from gateway.quality.answer import Answer, fenced
from gateway.quality.tasks import Code

SECONDS: Final = 10
_MEMORY: Final = 512 << 20
_TOLD: Final = 200
_START: Final = (
    "import resource, sys\n"
    f"for what, most in ((resource.RLIMIT_AS, {_MEMORY}), (resource.RLIMIT_CPU, {SECONDS}), "
    "(resource.RLIMIT_FSIZE, 1 << 20), (resource.RLIMIT_CORE, 0)):\n"
    "    resource.setrlimit(what, (most, most))\n"
    "exec(compile(sys.stdin.read(), 'answer', 'exec'), {'__name__': '__main__'})\n"
)
_SYSTEM: Final = ("/usr", "/lib", "/lib64", "/bin", "/sbin")


async def works() -> str | None:
    """Why code cannot be run here; None when it can."""
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed (Debian: apt-get install bubblewrap)"
    failure = await _run("pass")
    return None if failure is None else f"the sandbox does not start: {failure}"


async def judge_code(task: Code, answer: Answer) -> str | None:
    """What is wrong with the answer's code; None when the tests behind it run through."""
    return await _run(f"{fenced(answer.text)}\n\n{task.tests}\n")


async def _run(code: str) -> str | None:
    process = await asyncio.create_subprocess_exec(
        *_command(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(SECONDS + 5):
            _, said = await process.communicate(code.encode())
    except TimeoutError:
        process.kill()
        await process.wait()
        return f"did not end within {SECONDS} s"
    if process.returncode == 0:
        return None
    lines = said.decode(errors="replace").strip().splitlines()
    return (lines[-1] if lines else f"ended with {process.returncode}")[:_TOLD]


def _command() -> list[str]:
    """bwrap with everything unshared, and the interpreter's own folders beside the system's, all read-only."""
    interpreter = Path(sys.executable).resolve()
    shown = [*_SYSTEM, sys.base_prefix]
    binds = [word for path in shown if Path(path).exists() for word in ("--ro-bind", path, path)]
    return [
        *("bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL"),
        *binds,
        *("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--chdir", "/tmp"),  # noqa: S108 - its own
        *(str(interpreter), "-I", "-S", "-c", _START),
    ]
