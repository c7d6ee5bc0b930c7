"""From a loss to what a rule says of it: which causes the rule names, and how severe the cost makes them."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from lint.rule import SEVERITIES, Check, Location, Severity, Sighting
from lint.traffic.engine import Traffic
from lint.traffic.losses import MUCH, SOME, Loss
from prefix.explanations import EXPLANATIONS
from prefix.tokens import BYTES_PER_TOKEN

OFTEN: Final = 0.25
"""Of a template's requests."""
_MORE: Final = 1.5


def losses(
    *kinds: str, severity: Severity, often: Severity | None = None, once: Severity | None = None
) -> Check[Traffic]:
    """The check for losses of these causes (prefix.explanations and lint.traffic).

    severity: of a costly one. often: of a costly one that strikes many requests, once: of one that was seen a
    single time; None is no other.
    """

    def find(document: Traffic) -> Iterator[Sighting]:
        for loss in document.losses:
            if loss.kind in kinds:
                usual = severity if once is None or loss.occurrences > 1 else once
                yield _sighting(loss, _severity(loss, usual, often))

    return Check(Traffic, find)


def notes(kind: str, severity: Severity, *, needs: tuple[str, ...] = ()) -> Check[Traffic]:
    """The check for notes of a kind (lint.traffic.watcher).

    severity: of a costly one, or one of unknown cost. needs: what the log must tell (lint.traffic.logged.told).
    """

    def find(document: Traffic) -> Iterator[Sighting]:
        for note in document.notes:
            if note.kind == kind:
                lower = severity if note.share is None else lowered(severity, note.share)
                yield replace(note.sighting, severity=note.sighting.severity or lower)

    return Check(Traffic, find, needs)


def _sighting(loss: Loss, severity: Severity) -> Sighting:
    tokens = round(loss.recoverable_bytes / BYTES_PER_TOKEN)
    place = "" if loss.offset is None else f" at {loss.offset:,}"
    return Sighting(
        message=(
            f"{_title(loss.kind)} in {loss.pointer}{place}: {loss.occurrences:,} of {loss.requests:,} requests part"
            f" here, about {tokens:,} tokens recoverable ({_shares(loss)})"
        ),
        values=loss.values,
        severity=severity,
        location=Location(loss.row, 1),
        request=loss.request,
        pointer=loss.pointer,
        start=loss.offset,
        end=None if loss.offset is None else loss.offset + len(loss.values[1] or ""),
        occurrences=loss.occurrences,
        recoverable_tokens=tokens,
        cost=loss.cost,
        related=() if loss.made_at is None else (loss.made_at,),
    )


def _shares(loss: Loss) -> str:
    """By comparison with the nearest earlier prompt; and when mended prompts find far more than that one in the
    cache, by the replay too."""
    replayed = loss.cost.share if loss.cost is not None else None
    more = "" if replayed is None or replayed < _MORE * loss.share else f", {replayed:.0%} when replayed"
    return f"{loss.share:.0%} of their input{more}"


def _severity(loss: Loss, severity: Severity, often: Severity | None) -> Severity:
    if often is not None and loss.share >= MUCH and loss.frequency >= OFTEN:
        return often
    if loss.share >= SOME and loss.frequency >= OFTEN:
        return severity
    return lowered(severity, loss.share)


def _title(kind: str) -> str:
    return "another response format" if kind == "response_format" else _TITLES[kind]


_TITLES: Final[dict[str, str]] = {kind: explanation.title for kind, explanation in EXPLANATIONS.items()} | {
    "address_repr": "the address of an object",
    "document_order": "the same documents in another order",
    "forked_template": "two templates that are nearly one",
    "moving_insert": "a note that moves from turn to turn",
    "reencoded_image": "the same picture, encoded anew",
    "retrieved_text": "retrieved text ahead of constant text",
    "user_text": "a user's text ahead of constant text",
    "volatile_tool_text": "text of one request in a tool",
}


def lowered(severity: Severity, share: float) -> Severity:
    """The severity of a cause that costs this share of the input."""
    steps = 0 if share >= MUCH else 1 if share >= SOME else 2
    return SEVERITIES[max(0, SEVERITIES.index(severity) - steps)]
