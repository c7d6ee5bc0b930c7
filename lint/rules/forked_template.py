"""Two templates that are nearly one part early, and each serves a part of the traffic."""

from lint.examples import HANDBOOK, QUESTIONS, asked, chat, log
from lint.rule import Rule
from lint.traffic.checks import losses

_TWO = [f"You are {name}, the helper of this shop.\n{HANDBOOK}" for name in ("Nora", "Otto")]
_TURNS = [chat(_TWO[at % 2], f"{question} ({at})") for at, question in enumerate(QUESTIONS * 3)]

RULE = Rule(
    code="PC206",
    name="forked-template",
    severity="info",
    summary="Two templates that are nearly one part early, and each serves a part of the traffic.",
    why=(
        "Each variant has a cache of its own for text that is the same in both: twice the memory, and one more cold "
        "start on every worker. It is a hint, since each variant by itself is cached well."
    ),
    instead="Move what tells the variants apart behind what they share, or keep one of them.",
    since="0.1.0",
    checks=(losses("forked_template", severity="info"),),
    bad=(
        log(*_TURNS),
        log(*(chat(f"Style {at % 3}: be kind.\n{HANDBOOK}", question) for at, question in enumerate(QUESTIONS * 6))),
        log(*({**body, "messages": body["messages"][1:], "system": _TWO[at % 2]} for at, body in enumerate(_TURNS))),
    ),
    good=(
        log(*(chat(_TWO[0], question) for question in QUESTIONS * 3)),
        asked(*(_TWO[at // 6] for at in range(12))),
        log(*(chat(f"{HANDBOOK}\nYou are {('Nora', 'Otto')[at % 2]}.", q) for at, q in enumerate(QUESTIONS * 3))),
    ),
)
