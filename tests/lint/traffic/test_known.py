"""lint.traffic.known: causes are asked for seldom, and the answer is that of asking always."""

from unittest.mock import patch

import pytest

from lint.examples import HANDBOOK, chat
from lint.traffic import known
from lint.traffic.engine import TrafficEngine
from lint.traffic.logged import Logged
from prefix.causes import find_cause

CLOCKS = [f"Now: 2026-03-01T{at // 60:02}:{at % 60:02}:07Z\n{HANDBOOK}" for at in range(300)]
LINES = HANDBOOK.splitlines(keepends=True)
SHUFFLED = [
    "".join(LINES[(at * step) % 6] for at in range(1, 7)) + f"{n}" for n in range(60) for step in (1, 5, 7, 11, 13)
]
ENDS = [HANDBOOK.replace("\n", "\r\n", at % 7) for at in range(300)]


@pytest.mark.parametrize(("systems", "kind"), [(CLOCKS, "clock"), (ENDS, "whitespace")])
def test_the_same_answer(systems: list[str], kind: str) -> None:
    """One cause, as often as it struck, though it was asked for only now and then."""
    engine = TrafficEngine()
    with patch.object(known, "find_cause", wraps=find_cause) as asked:
        for row, system in enumerate(systems):
            engine.add(Logged(chat(system)), row)
    (loss,) = engine.result("log").losses
    assert loss.kind == kind
    assert asked.call_count < 40


def test_a_new_cause_behind_a_known_one() -> None:
    """Another place is asked for at once."""
    engine = TrafficEngine()
    for row, system in enumerate(
        [*CLOCKS[:40], *[f"{CLOCKS[39]}{name} {HANDBOOK.upper()}" for name in ("Ada", "Eve")]]
    ):
        engine.add(Logged(chat(system)), row)
    assert [loss.kind for loss in engine.result("log").losses] == ["clock", "system_text"]


def test_values_are_kept_short() -> None:
    """A cause that a log is full of does not keep the documents that it was first seen in."""
    engine = TrafficEngine()
    for at in (0, 2, 4):
        turns = (" ".join(f"{turn}.{k}" for k in range(2000)) for turn in range(at, at + 5))
        engine.add(Logged(chat(HANDBOOK, *turns)), at)
    (loss,) = engine.result("log").losses
    assert loss.kind == "window_slid"
    assert all(len(value or "") <= known.LONGEST_VALUE for value in loss.values)
