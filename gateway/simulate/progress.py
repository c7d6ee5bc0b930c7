"""How far a study is: a bar on a terminal; elsewhere a line for each run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

Started = Callable[[str], Callable[[int], None]]


@contextmanager
def study_progress(console: Console, runs: int, requests: int) -> Iterator[Started]:
    """While open: call what this gives with the name of each run that starts; what that gives, with its progress."""
    if not console.is_terminal:
        yield lambda name: _line(console, name)
        return
    columns = (
        TextColumn("{task.description:<24}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=runs * requests)
        started = -1

        def start(name: str) -> Callable[[int], None]:
            nonlocal started
            started += 1
            base = started * requests
            bar.update(task, description=name)
            return lambda done: bar.update(task, completed=base + done)

        yield start


def _line(console: Console, name: str) -> Callable[[int], None]:
    console.print(name, highlight=False)
    return lambda _done: None
