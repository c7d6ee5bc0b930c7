"""The first breakpoint stands behind text of one request: what it writes is never read."""

from lint.examples import HANDBOOK, QUESTIONS, claude, log, marked
from lint.rule import Rule
from lint.traffic.checks import notes

_TEXT = HANDBOOK * 30
_PARTS = [{"type": "text", "text": _TEXT}]
_NAMES = ("Ada", "Bob", "Cleo", "Dora", "Emil", "Fritz")

RULE = Rule(
    code="PC802",
    name="breakpoint-after-volatile",
    severity="error",
    summary="The first breakpoint stands behind text of one request: what it writes is never read.",
    why=(
        "An entry is found again when all blocks up to its breakpoint are the same. With a name, a date or the "
        "question in one of them each request writes an entry, at a quarter more than the price of reading the text "
        "anew, that no other request can read, though they begin alike."
    ),
    instead=(
        "End the block where the constant text ends, put the breakpoint there, and write what varies into a block of "
        "its own behind it."
    ),
    since="0.1.0",
    checks=(notes("never_read", "error"),),
    bad=(
        log(*(claude("Hi", system=marked(f"{_TEXT}\nThe customer is {name}.")) for name in _NAMES)),
        log(*(claude(marked(f"{question} ({at})"), system=_TEXT) for at, question in enumerate(QUESTIONS * 2))),
        log(*(claude(f"{name}?", system=[*_PARTS, *marked(f"Serving {name}.")]) for name in _NAMES)),
    ),
    good=(
        log(*(claude(question, system=marked(_TEXT)) for question in QUESTIONS * 2)),
        log(*(claude(f"{name}?", system=[*marked(_TEXT), *marked(f"Serving {name}.")]) for name in _NAMES)),
        log(*(claude("Hi", system=marked(f"{_TEXT}\nThe customer is {name}."), model="m") for name in _NAMES)),
        log(*(claude(marked(f"Question {at}"), system=f"{at} {HANDBOOK}") for at in range(6))),
    ),
)
