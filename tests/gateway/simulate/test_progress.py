"""gateway.simulate.progress: a bar on a terminal, a line for each run elsewhere."""

import re
from io import StringIO

import pytest
from rich.console import Console

from gateway.simulate.progress import study_progress


def told(*, terminal: bool) -> str:
    """What two runs of ten requests say."""
    out = StringIO()
    with study_progress(Console(file=out, width=100, force_terminal=terminal), 2, 10) as started:
        for name in ("random 1x", "session 1x"):
            done = started(name)
            done(5)
            done(10)
    return out.getvalue()


def test_lines_where_nobody_watches() -> None:
    """One for each run, nothing that overwrites itself."""
    assert told(terminal=False) == "random 1x\nsession 1x\n"


def test_a_bar_on_a_terminal() -> None:
    """It counts the requests of all runs."""
    assert "20/20" in told(terminal=True)


def test_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR takes the colours out of it."""
    assert re.search(r"\x1b\[[0-9;]*3[0-9]", told(terminal=True))
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", told(terminal=True))
