"""Requests with one prefix are served by workers that do not have it."""

from typing import Any

from lint.examples import HANDBOOK, QUESTIONS, chat, entry, log
from lint.rule import Rule
from lint.traffic.checks import notes

_TURNS = [
    f"Turn {at}: the parcel with the {at * 7} blue shoes is still not here, and {QUESTIONS[at % 4]}"
    for at in range(40)
]


def _served(*workers: str) -> list[dict[str, Any]]:
    """The turns of one long conversation, served by these workers in turn."""
    return [entry(chat(HANDBOOK * 3, *_TURNS[: 2 * at + 1]), worker=worker) for at, worker in enumerate(workers * 4)]


RULE = Rule(
    code="PC912",
    name="scattered-by-routing",
    severity="warning",
    summary="Requests with one prefix are served by workers that do not have it.",
    why=(
        "Each worker has a cache of its own. A conversation that goes from one to another is computed again "
        "on each of them, though one has nearly all of it. Needs to know who served a request (`worker`, "
        "`replica`, `backend`, `upstream` ...); a log that does not say it is not judged."
    ),
    instead="Route by prefix or by session: the gateway's policies do (`prefixgate simulate` compares them).",
    since="0.1.0",
    checks=(notes("scattered", "warning", needs=("workers",)),),
    bad=(
        log(*_served("w1", "w2")),
        log(*_served("w1", "w2", "w3")),
        log(*({"replica": line["worker"], "request": line["request"]} for line in _served("a", "b"))),
    ),
    good=(
        log(*_served("w1")),
        log(*_served("w1", "w1", "w1", "w1", "w2")[:4]),
        log(*(line["request"] for line in _served("w1", "w2"))),
        log(*(entry(chat(f"{at} {HANDBOOK}"), worker=f"w{at % 2}") for at in range(8))),
    ),
)
