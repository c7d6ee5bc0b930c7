"""An earlier message is sent otherwise than before."""

from lint.examples import QUESTIONS, conversation
from lint.rule import Rule
from lint.sources.examples import turns
from lint.sources.flow import uses
from lint.traffic.checks import losses

_TURNS = [
    f"Turn {at}: the parcel with the {at * 7} blue shoes is still not here, what do you advise?" for at in range(16)
]


RULE = Rule(
    code="PC502",
    name="history-edited",
    severity="error",
    summary="An earlier message is sent otherwise than before.",
    why=(
        "Rewriting a tool result or dropping the reasoning of an earlier answer changes the middle of the "
        "conversation: what stands behind it is computed again."
    ),
    instead=("Append, and edit nothing. Where old results must shrink, shrink many at once and seldom."),
    since="0.1.0",
    checks=(
        uses("edited"),
        losses("history_edited", "reasoning_dropped", severity="error"),
    ),
    bad=(
        turns(
            "history", setup="for m in history[:-4]:\n    if m['role'] == 'tool':\n        m['content'] = '[removed]'"
        ),
        turns("history", setup="history = [short(m) if m['role'] == 'tool' else m for m in history]"),
        turns(
            "history",
            setup="for i, m in enumerate(history):\n    if i < len(history) - 4:\n        history[i]['content'] = ''",
        ),
        conversation(_TURNS[:5], ["Rewritten: the first question.", *_TURNS[1:7]]),
        conversation(_TURNS[:5], [_TURNS[0], "(result removed)", *_TURNS[2:7]]),
        conversation(_TURNS[:7], [*_TURNS[:2], "Shortened.", *_TURNS[3:9]], [*_TURNS[:2], "Cut.", *_TURNS[3:11]]),
    ),
    good=(
        turns("[SYSTEM, *history]", setup="history.append({'role': 'user', 'content': q})"),
        turns("[SYSTEM, *[{'role': m.role, 'content': m.text} for m in history]]"),
        turns("history", setup="history[-1]['content'] = q.strip()"),
        conversation(*(_TURNS[:end] for end in range(1, 14, 2))),
        conversation(_TURNS[:5], [*_TURNS[:4], "Another question at the end."]),
        conversation(*([question] for question in QUESTIONS)),
    ),
)
