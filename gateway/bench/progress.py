"""How far a run is: a bar with what failed and how fast it is; elsewhere a line every ten seconds."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from gateway.bench.outcome import Outcome
from gateway.percentile import nearest_rank

_RECENT: Final = 200
_EVERY_S: Final = 10.0


class Tally:
    """What has ended so far."""

    def __init__(self) -> None:
        self.done = 0
        self.failed = 0
        self._recent: deque[float] = deque(maxlen=_RECENT)

    def add(self, outcome: Outcome) -> None:
        """One more."""
        self.done += 1
        self.failed += outcome.error is not None
        if outcome.error is None and (ttft_s := outcome.ttft_s) is not None:
            self._recent.append(ttft_s)

    def text(self) -> str:
        """Failures, and the median TTFT of the last ones."""
        recent = f", TTFT p50 {nearest_rank(sorted(self._recent), 0.5) * 1000:.0f} ms lately" if self._recent else ""
        return f"{self.failed} failed{recent}"


@contextmanager
def progress(console: Console) -> Iterator[Callable[[int | None], Callable[[Outcome], None]]]:
    """While open: call what this gives with how many requests there will be, if that is known; what that gives, with
    each outcome."""
    tally = Tally()
    if not console.is_terminal:
        yield lambda total: _lines(console, tally, total)
        return
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True) as bar:

        def begin(total: int | None) -> Callable[[Outcome], None]:
            task = bar.add_task("", total=total)

            def ended(outcome: Outcome) -> None:
                tally.add(outcome)
                bar.update(task, completed=tally.done, description=tally.text())

            return ended

        yield begin


def _lines(console: Console, tally: Tally, total: int | None) -> Callable[[Outcome], None]:
    of = f" of {total:,}" if total is not None else ""
    said_s = 0.0

    def ended(outcome: Outcome) -> None:
        nonlocal said_s
        tally.add(outcome)
        if outcome.ended_s - said_s >= _EVERY_S:
            said_s = outcome.ended_s
            console.print(f"{said_s:.0f} s: {tally.done:,}{of} ended, {tally.text()}", highlight=False)

    return ended
