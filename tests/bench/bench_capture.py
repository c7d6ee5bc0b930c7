"""What captures cost: on the request path, in the thread that writes them, and to an event loop beside that thread.

Run in the repository: `.venv/bin/python -m tests.bench.bench_capture`. Bodies are those of the lint benchmark's log
(3.6 KB). CPU is the best of several rounds, since the machine is shared; how late a timer of 1 ms fires is measured
with the thread idle, with it redacting one body after the other, and with a thread that just computes beside it.
"""

import asyncio
import json
import platform
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import msgspec

from gateway.apis import APIS, CHAT
from gateway.capture import Captures
from gateway.capture_settings import CaptureConfig
from prefix.body import parse_body
from prefix.capture import line_of
from prefix.masked import Masked
from prefix.obscure import Hashed
from prefix.redaction import Form, Redact
from tests.bench.bench_telemetry import record, seconds
from tests.bench.lint_log import requests

BODIES: Final = [json.dumps(body).encode() for body in requests(500)]
TICKS: Final = 2000
RECORD: Final = record(1)


def prepared(raw: bytes) -> Any:
    """As much of a prepared request as is looked at."""
    return SimpleNamespace(api=APIS[CHAT], identity=SimpleNamespace(session=None), body=parse_body(raw))


def offering(folder: Path) -> Iterator[tuple[str, float]]:
    """Microseconds of the request path for one request."""
    ready = [(prepared(raw), raw) for raw in BODIES]
    settings = {
        "off": CaptureConfig(),
        "on, share 0": CaptureConfig(folder=str(folder), sample=0.0),
        "on, not in the sample": CaptureConfig(folder=str(folder), sample=1e-12),
        "on, captured": CaptureConfig(folder=str(folder), max_files=4),
    }
    for name, config in settings.items():
        captures = Captures(config, None, b"key")
        captures._thread = threading.current_thread()  # nobody writes while it is timed

        def offer(captures: Captures = captures) -> None:
            captures._waiting.clear()
            captures._taken_bytes = 0
            for one, raw in ready:
                captures.offer(RECORD, one, raw)

        yield name, seconds(offer) / len(BODIES) * 1e6


def writing() -> Iterator[tuple[str, float]]:
    """Microseconds of the thread for one request, the first time its lines are seen and later on."""
    forms: dict[Redact, Callable[[], Form]] = {
        "none": lambda: Masked(b"key"),
        "mask": lambda: Masked(b"key"),
        "hash": lambda: Hashed(b"key"),
    }
    for redact, make in forms.items():

        def write(form: Form, redact: Redact = redact) -> None:
            for raw in BODIES:
                line_of(RECORD, None, raw, redact, form)

        form = make()
        yield redact, seconds(lambda make=make, write=write: write(make())) / len(BODIES) * 1e6
        yield f"{redact}, all lines known", seconds(lambda form=form, write=write: write(form)) / len(BODIES) * 1e6


@contextmanager
def beside(work: Callable[[], object] | None) -> Iterator[None]:
    """A thread that does this again and again."""
    ended = threading.Event()

    def run() -> None:
        while work is not None and not ended.is_set():
            work()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


async def lateness() -> list[float]:
    """How many microseconds late timers of 1 ms fire."""
    late = []
    for _ in range(TICKS):
        due = time.perf_counter() + 0.001
        await asyncio.sleep(0.001)
        late.append((time.perf_counter() - due) * 1e6)
    return late


def compute() -> None:
    """What any thread does that never lets go of the interpreter by itself."""
    sum(number * number for number in range(20000))


def delays() -> Iterator[tuple[str, Sequence[float]]]:
    """Lateness beside each thread."""

    def redact() -> None:
        form = Hashed(b"key", lambda: time.sleep(0))
        for raw in BODIES[:50]:
            line_of(RECORD, None, raw, "hash", form)

    for name, work in (("nothing", None), ("captures, hash", redact), ("a thread that computes", compute)):
        with beside(work):
            yield name, asyncio.run(lateness())


def main() -> None:
    """Print it."""
    size = sum(map(len, BODIES)) / len(BODIES)
    print(
        f"{platform.machine()}, Python {platform.python_version()}, msgspec {msgspec.__version__}, {size:.0f} bytes"
    )
    with tempfile.TemporaryDirectory() as folder:
        for name, us in offering(Path(folder)):
            print(f"request path, {name:<30}{us:8.2f} us")
    for name, us in writing():
        print(f"thread, {name:<36}{us:8.1f} us")
    for name, late in delays():
        cuts = statistics.quantiles(late, n=1000)
        print(f"timer beside {name:<31}{cuts[499]:8.0f} us p50{cuts[989]:8.0f} us p99{max(late):8.0f} us most")


if __name__ == "__main__":
    main()
