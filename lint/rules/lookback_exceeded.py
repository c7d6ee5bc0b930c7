"""More blocks were added between two requests than a breakpoint looks back."""

from typing import Any

from lint.examples import HANDBOOK, claude, log, marked
from lint.providers import LOOK_BACK
from lint.rule import Rule
from lint.traffic.checks import notes

_TEXT = HANDBOOK * 30


def _grown(*lengths: int, every: int = 0, system: Any = _TEXT) -> list[dict[str, Any]]:
    """One conversation, sent with so many messages, the last one marked; and each `every`-th one too."""
    return [
        claude(
            *(marked(f"Turn {at}") if _is_marked(at, size, every) else f"Turn {at}" for at in range(size)),
            system=system,
        )
        for size in lengths
    ]


def _is_marked(at: int, size: int, every: int) -> bool:
    return at == size - 1 or (every > 0 and at % every == 0)


RULE = Rule(
    code="PC805",
    name="lookback-exceeded",
    severity="warning",
    summary="More blocks were added between two requests than a breakpoint looks back.",
    why=(
        f"From each breakpoint the API looks for an entry in {LOOK_BACK} blocks back and no further. A turn "
        "with many tool calls and results, each a block, puts the entry of the turn before out of reach, and "
        "the whole conversation is written again."
    ),
    instead="Set a second breakpoint in the middle of long turns, or mark the last block of the turn before as well.",
    since="0.1.0",
    checks=(notes("lookback", "warning"),),
    bad=(
        log(*_grown(1, 31, 61)),
        log(*_grown(1, 3, 41)),
        log(*_grown(5, 29)),
    ),
    good=(
        log(*_grown(1, 3, 5, 7)),
        log(*_grown(1, 15, 31)),
        log(*_grown(1, 31, 61, every=16)),
        log(*_grown(1, 31, system=marked(HANDBOOK))[:1]),
    ),
)
