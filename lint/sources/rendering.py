"""Asks a child process to render chat templates, and ends it when a template does not.

A template is a program by someone else: it may loop for ever or ask for all memory. So none is rendered in this
process. The child is started when the first chat template is there, serves the whole run, and after one that it had
to be killed for a new one is started, a few times; then the remaining templates are refused.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

SECONDS: Final = 6.0
"""Wall clock for one template; its CPU time is limited in the child."""
MAX_KILLED: Final = 3
_CHUNK: Final = 1 << 16
_CHILD: Final = Path(__file__).with_name("render_child.py")


class Rendered(NamedTuple):
    """What a template wrote for one case, or why it wrote nothing."""

    text: str = ""
    error: str = ""


class NotRendered(Exception):
    """A template ended the child process, or did not end at all."""


class TooManyKilled(Exception):
    """So many templates did not end that no further one is tried."""


class Renderer:
    """One child at a time."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._killed = 0
        self._child: subprocess.Popen[bytes] | None = None

    def render(self, template: str, cases: Sequence[Mapping[str, Any]]) -> list[Rendered]:
        """One text or error per case. Raises NotRendered for a template that had to be stopped, and TooManyKilled."""
        if self._killed >= MAX_KILLED:
            raise TooManyKilled
        child = self._child = self._child or self._started()
        assert child.stdin is not None
        try:
            child.stdin.write(json.dumps({"template": template, "cases": list(cases)}).encode() + b"\n")
            child.stdin.flush()
            answer = self._answer(child)
        except BrokenPipeError:
            answer = b""
        if not answer.endswith(b"\n"):
            self._killed += 1
            self.close()
            raise NotRendered
        return [Rendered(**one) for one in json.loads(answer)]

    def close(self) -> None:
        """End the child, if there is one."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.communicate()

    def _started(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - our own file, no shell
            [sys.executable, "-P", str(_CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def _answer(self, child: subprocess.Popen[bytes]) -> bytes:
        """One line, or what there is of it when the child ends or its time is over."""
        assert child.stdout is not None
        end = time.monotonic() + self._seconds
        chunks: list[bytes] = []
        with selectors.DefaultSelector() as selector:
            selector.register(child.stdout, selectors.EVENT_READ)
            while not (chunks and chunks[-1].endswith(b"\n")) and selector.select(max(0.0, end - time.monotonic())):
                chunk = os.read(child.stdout.fileno(), _CHUNK)
                if not chunk:
                    break
                chunks.append(chunk)
        return b"".join(chunks)


@functools.cache
def renderer() -> Renderer:
    """The one of this run."""
    made = Renderer()
    atexit.register(made.close)
    return made
