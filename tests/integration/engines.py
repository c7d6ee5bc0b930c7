"""Real engines for tests: started once per set of options and shared, or a test's own to be killed.

A shared engine is handed out cold (its cache flushed) and must be left running. Every engine of the session is
stopped at its end, and dies with pytest however that ends. Start them from the main thread (see EngineProcess).
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

from examples.real_sglang_cpu import install
from examples.real_sglang_cpu.engine_process import PORT_STEP, CannotStartError, EngineProcess, Options

HOME = install.home()
TINY = Options(model=HOME / "tiny")
FIRST_PORT = int(os.environ.get("PREFIXGATE_TEST_ENGINE_PORT", "21500"))
SLOTS = 20
START_S = 400
MOST_RUNNING = 6


@dataclass
class Engines:
    """The engines of one test session. Six at most run at a time, 1.5 GB each; the longest unused make room."""

    running: list[EngineProcess] = field(default_factory=list)

    def take(self, count: int = 1, options: Options = TINY) -> list[EngineProcess]:
        """`count` engines with these options and an empty cache, shared with later tests."""
        dead = [engine for engine in self.running if not engine.running()]
        chosen = [engine for engine in self.running if engine.options == options and engine not in dead][:count]
        self.running = [engine for engine in self.running if engine not in dead and engine not in chosen]
        stop(dead)
        self.make_room(MOST_RUNNING - count)
        chosen += self.launch(count - len(chosen), options)
        self.running += chosen
        for engine in chosen:
            engine.flush()
        return chosen

    def launch(self, count: int, options: Options) -> list[EngineProcess]:
        """`count` new engines, all up; the caller stops them."""
        started: list[EngineProcess] = []
        try:
            for port in free_ports(count):
                started.append(EngineProcess(HOME, port, options))
                started[-1].start()
            for engine in started:
                engine.wait(START_S)
        except BaseException:
            stop(started)
            raise
        return started

    def make_room(self, most: int) -> None:
        """Stop the longest unused shared engines until at most `most` run."""
        surplus = max(0, len(self.running) - most)
        stop(self.running[:surplus])
        del self.running[:surplus]


def stop(engines: list[EngineProcess]) -> None:
    """Stop each of them, also when stopping one raises."""
    if engines:
        try:
            engines[0].stop()
        finally:
            stop(engines[1:])


def free_ports(count: int) -> Iterator[int]:
    """The first `count` slots of four ports each that nobody uses; a slot is checked when it is asked for."""
    for slot in range(SLOTS):
        if count == 0:
            return
        port = FIRST_PORT + slot * PORT_STEP
        try:
            EngineProcess(HOME, port, TINY).check_ports()
        except CannotStartError:
            continue
        count -= 1
        yield port
    if count:
        raise CannotStartError(f"no free ports for an engine from {FIRST_PORT} on")


def missing() -> str | None:
    """One line on what to do when the engines are not installed, else None."""
    if install.installed(HOME):
        return None
    return f"the real engines are not installed in {HOME}: run `make test-engines`"
