"""Static text ends in the middle of a word, so that its last token is never the same."""

from lint.examples import HANDBOOK, QUESTIONS, chat, log
from lint.rule import Rule
from lint.traffic.checks import notes

_NAMES = ("ada", "bob", "cleo", "dora", "emil", "fritz", "greta", "hugo", "ivan")


def _with(join: str, *, more: str = "") -> list[dict[str, object]]:
    return [chat(f"{HANDBOOK}{join}{name}{more}", QUESTIONS[at % 4]) for at, name in enumerate(_NAMES)]


RULE = Rule(
    code="PC307",
    name="boundary-straddle",
    severity="info",
    summary="Static text ends in the middle of a word, so that its last token is never the same.",
    why=(
        "Tokenizers join what stands together: `account_` and `ada` become tokens of both. The last token of the "
        "static text is then another one each time, and with it the whole block of 16 or more tokens that it is in."
    ),
    instead="End static text with a line end, and begin variable text on a line of its own.",
    since="0.1.0",
    checks=(notes("straddle", "info"),),
    bad=(
        log(*_with("Account: account_")),
        log(*_with("The customer is called:")),
        log(*({"model": "m", "prompt": f"{HANDBOOK}Question={name} asks for help."} for name in _NAMES)),
    ),
    good=(
        log(*_with("Account:\n")),
        log(*(chat(HANDBOOK, f"{name} asks") for name in _NAMES)),
        log(*(chat(HANDBOOK, f"It is 2026-03-01T10:{at}:00Z.") for at in range(10, 20))),
        log(*_with("The same account_", more="x")[:1] * 9),
    ),
)
