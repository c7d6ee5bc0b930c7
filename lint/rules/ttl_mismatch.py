"""Breakpoints live too short for the traffic, or the longer life comes second."""

from lint.bodies import breakpoint_faults
from lint.examples import HANDBOOK, QUESTIONS, claude, entry, log, marked, one
from lint.rule import Example, Rule
from lint.traffic.checks import notes

_TEXT = HANDBOOK * 30


def _log(seconds: float, ttl: str | None = None) -> Example:
    """One request every so many seconds."""
    bodies = [claude(question, system=marked(_TEXT, ttl)) for question in QUESTIONS * 2]
    return log(*(entry(body, started=1_772_532_847 + at * seconds) for at, body in enumerate(bodies)))


RULE = Rule(
    code="PC806",
    name="ttl-mismatch",
    severity="warning",
    summary="Breakpoints live too short for the traffic, or the longer life comes second.",
    why=(
        "An entry lives five minutes from its last use, or an hour for twice the price of writing it. Requests that "
        "come less often than that write it again each time and never read it. And in one request longer lives have "
        "to stand before shorter ones. That entries ran out is said only of logs that have times."
    ),
    instead=(
        "Ask for `ttl: 1h` on what comes again within the hour, and mark it before what lives for five minutes; or "
        "leave the breakpoint out where nothing comes again."
    ),
    since="0.1.0",
    checks=(
        notes("ttl_order", "warning"),
        notes("expired", "warning", needs=("times",)),
        breakpoint_faults("ttl_order"),
    ),
    bad=(
        one(claude(marked("Hello", "1h"), system=marked(HANDBOOK * 30))),
        log(*(claude(marked(question, "1h"), system=marked(HANDBOOK * 30, "5m")) for question in QUESTIONS)),
        _log(600),
        _log(400),
        one(claude(marked("Hello", "1h"), tools=[{"name": "t", "cache_control": {"type": "ephemeral"}}])),
        one(claude(marked("One"), "Yes.", marked("Two", "1h"))),
    ),
    good=(
        one(claude(marked("Hello"), system=marked(HANDBOOK * 30, "1h"))),
        _log(60),
        _log(600, "1h"),
        log(*(claude(question, system=marked(HANDBOOK * 30)) for question in QUESTIONS)),
        one(claude(marked("Hello", "1h"), system=marked(HANDBOOK * 30, "1h"))),
        one(claude(marked("Hello"), system=marked(HANDBOOK * 30))),
    ),
)
