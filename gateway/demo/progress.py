"""How far a pass is: a bar on a terminal, a line at every quarter elsewhere. And how busy the processors were."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

_STAT: Final = Path("/proc/stat")


@contextmanager
def progress(console: Console, name: str, total: int) -> Iterator[Callable[[int], None]]:
    """While open, call the function that this gives with the number of requests that have ended."""
    if not console.is_terminal:
        yield _lines(console, name, total)
        return
    columns = (TextColumn("{task.description:<18}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(name, total=total)
        yield lambda done: bar.update(task, completed=done)


def _lines(console: Console, name: str, total: int) -> Callable[[int], None]:
    quarters = {total * quarter // 4: quarter * 25 for quarter in (1, 2, 3, 4)}

    def say(done: int) -> None:
        if done in quarters:
            console.print(f"{name}: {quarters[done]} %, {done} of {total} requests", highlight=False)

    return say


@dataclass(frozen=True, slots=True)
class ProcessorTime:
    """What all processors of this machine did since it started, in ticks."""

    idle: int
    total: int


def processor_time() -> ProcessorTime | None:
    """Now; None where the system does not tell (proc(5): user nice system idle iowait irq softirq steal)."""
    if not _STAT.exists():
        return None
    ticks = [int(word) for word in _STAT.read_text().splitlines()[0].split()[1:9]]
    return ProcessorTime(idle=ticks[3] + ticks[4], total=sum(ticks))


def busy_share(before: ProcessorTime | None, after: ProcessorTime | None) -> float | None:
    """The share of all processors' time that was not idle in between; None when unknown."""
    if before is None or after is None or after.total <= before.total:
        return None
    return 1 - (after.idle - before.idle) / (after.total - before.total)
