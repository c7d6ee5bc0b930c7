"""A prompt was equal to an earlier one and was computed again: capacity or time lost it."""

from typing import Any

from lint.examples import HANDBOOK, QUESTIONS, chat, entry, log
from lint.rule import Rule
from lint.traffic.checks import notes

_TEXT = HANDBOOK * 4


def _reported(*cached: int, **members: Any) -> list[dict[str, Any]]:
    return [
        entry(chat(_TEXT, f"{QUESTIONS[at % 4]} ({at})"), cached=tokens, **members)
        for at, tokens in enumerate(cached)
    ]


RULE = Rule(
    code="PC911",
    name="evicted-not-drifted",
    severity="info",
    summary="A prompt was equal to an earlier one and was computed again: capacity or time lost it.",
    why=(
        "The log reports how many tokens were found cached, and an earlier prompt begins with the same text for far "
        "more of them. Nothing in the prompt is to blame: the cache was full, the entry ran out, or the worker was "
        "started anew. Needs reported cached tokens; a log that reports only zeros is not judged."
    ),
    instead=(
        "More cache, a longer life, fewer prefixes, or routing that sends a prefix to one worker. Mending the prompt "
        "will not help."
    ),
    since="0.1.0",
    checks=(notes("evicted", "info", needs=("reported cached tokens",)),),
    bad=(
        log(*_reported(0, 480, 0, 490)),
        log(*_reported(0, 480, 0, 0, 0, 490, worker="w1")),
        log(*_reported(0, 0, 480)),
    ),
    good=(
        log(*_reported(0, 480, 490, 500)),
        log(*_reported(0, 0, 0, 0)),
        log(
            *(
                line
                for pair in zip(_reported(0, 480, worker="w1"), _reported(0, 480, worker="w2"), strict=True)
                for line in pair
            )
        ),
        log(*(chat(_TEXT, question) for question in QUESTIONS)),
    ),
)
