"""The words every adapter shares: states, and what proves that a cache was lost."""

import pytest

from engine_adapter.engine import Continuity, Engine, State, forgot, next_state
from engine_adapter.sglang import SGLang

LIFE = [
    (None, State.DOWN),
    (503, State.STARTING),
    (503, State.STARTING),
    (200, State.UP),
    (503, State.DRAINING),
    (503, State.DRAINING),
    (None, State.DOWN),
    (503, State.STARTING),
    (200, State.UP),
    (500, State.DOWN),
]


def test_every_adapter_follows_the_protocol() -> None:
    """SGLang's adapter is an Engine (checked by mypy) and its paths are absolute."""
    engine: Engine = SGLang()
    for path in (engine.health_path, *engine.info_paths, *engine.load_paths, engine.metrics_path, engine.flush_path):
        assert path is None or path.startswith("/")


def test_a_life_is_followed_from_status_codes_alone() -> None:
    """503 means starting before the first 200 and draining after it; no answer means down."""
    state = State.UNKNOWN
    for status, expected in LIFE:
        state = next_state(state, status)
        assert state is expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (Continuity(), Continuity(), False),
        (Continuity("a"), Continuity("a"), False),
        (Continuity("a"), Continuity("b"), True),
        (Continuity(None), Continuity("b"), False),
        (Continuity("a"), Continuity(None), False),
        (Continuity("a", 10), Continuity("a", 10), False),
        (Continuity("a", 10), Continuity("a", 11), False),
        (Continuity("a", 10), Continuity("a", 9), True),
        (Continuity("a", None), Continuity("a", 0), False),
        (Continuity("a", 10), Continuity("a", None), False),
        (Continuity("a", 10, 0), Continuity("a", 10, 1), True),
        (Continuity("a", 10, 3), Continuity("a", 10, 0), True),
        (Continuity("a", 10, None), Continuity("a", 10, 1), False),
        (Continuity("a", 10, 1), Continuity("a", 10, None), False),
    ],
)
def test_only_known_evidence_proves_a_loss(before: Continuity, after: Continuity, expected: bool) -> None:
    """Another boot id, a counter that went back or another number of clearings; never something unknown."""
    assert forgot(before, after) is expected
