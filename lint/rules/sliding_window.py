"""A conversation loses its oldest messages turn by turn."""

from lint.examples import QUESTIONS, chat, conversation, log
from lint.rule import Rule
from lint.sources.examples import turns
from lint.sources.flow import uses
from lint.traffic.checks import losses

_TURNS = [
    f"Turn {at}: the parcel with the {at * 7} blue shoes is still not here, what do you advise?" for at in range(16)
]


RULE = Rule(
    code="PC501",
    name="sliding-window",
    severity="error",
    summary="A conversation loses its oldest messages turn by turn.",
    why=(
        "A history capped at N messages drops its first one with every turn, so that the cache ends "
        "behind the system text: the whole history is computed again each time, which is dearer than "
        "sending more of it."
    ),
    instead=("Cut seldom and many messages at a time, or summarise; each cut costs the history once."),
    since="0.1.0",
    checks=(
        uses("window"),
        losses("window_slid", severity="error", once="warning"),
    ),
    bad=(
        turns("[SYSTEM] + history[-6:]"),
        turns("[SYSTEM, *history]", setup="while len(history) > 20:\n    history.pop(0)"),
        turns("[SYSTEM, *recent, {'role': 'user', 'content': q}]", setup="recent = history[len(history) - 8:]"),
        turns(
            "[SYSTEM, *recent]", setup="recent = deque(history, maxlen=8)", imports="from collections import deque"
        ),
        conversation(*(_TURNS[max(0, end - 5) : end] for end in range(1, 14, 2))),
        conversation(*(_TURNS[max(0, end - 7) : end] for end in range(1, 16, 2))),
        log(*(chat("Be brief.", *_TURNS[max(0, end - 5) : end]) for end in range(1, 14, 2))),
    ),
    good=(
        turns("[SYSTEM, *history, {'role': 'user', 'content': q}]"),
        turns("[SYSTEM, *history[1:]]"),
        turns("[SYSTEM, *history]", setup="newest = history[-1]\nprint(history[-3:])"),
        conversation(*(_TURNS[:end] for end in range(1, 14, 2))),
        conversation(*([question] for question in QUESTIONS)),
        conversation(_TURNS[:3], _TURNS[:5], _TURNS[:5], _TURNS[:7]),
    ),
)
