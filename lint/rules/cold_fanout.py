"""Requests with one prefix are sent together, before the first of them has written it."""

from typing import Any

from lint.examples import HANDBOOK, QUESTIONS, chat, claude, entry, log, marked
from lint.rule import Example, Rule
from lint.traffic.checks import notes


def _sent(*starts: float, known: bool = True) -> Example:
    """Requests at these seconds, each answered two seconds later. known: the log says when the answer began."""
    return log(*(_entry(at, start, known) for at, start in enumerate(starts)))


def _entry(at: int, start: float, known: bool) -> dict[str, Any]:
    body = claude(f"Part {at}", system=marked(HANDBOOK * 30))
    times: dict[str, Any] = {"ttft_s": 2.0, "duration_s": 9.0} if known else {}
    return entry(body, started=1_772_532_847 + start, **times)


RULE = Rule(
    code="PC807",
    name="cold-fanout",
    severity="warning",
    summary="Requests with one prefix are sent together, before the first of them has written it.",
    why=(
        "An entry can be read once the answer to the request that writes it has begun. Ten requests sent at "
        "once all write it, at a quarter more than the price of the text, and none reads it. Needs times in "
        "the log: when each request was sent, and when its answer began."
    ),
    instead="Send one request first, wait for the first token of its answer, then send the others.",
    since="0.1.0",
    checks=(notes("fanout", "warning", needs=("times",)),),
    bad=(
        _sent(0, 0.1, 0.2, 0.3),
        _sent(0, 1.5, 1.6),
        _sent(0, 0, 0, 0, 0, 0),
    ),
    good=(
        _sent(0, 2.5, 2.6, 2.7),
        _sent(0, 0.1, 0.2, known=False),
        log(*(entry(chat(HANDBOOK, question), started=1_772_532_847, ttft_s=2.0) for question in QUESTIONS)),
    ),
)
