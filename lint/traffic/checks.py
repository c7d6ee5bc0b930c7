"""From a loss to what a rule says of it: which causes the rule names, and how severe the cost makes them."""

from collections.abc import Iterator
from typing import Final

from lint.rule import SEVERITIES, Check, Location, Severity, Sighting
from lint.traffic.engine import Traffic
from lint.traffic.losses import Loss
from prefix.explanations import EXPLANATIONS
from prefix.tokens import BYTES_PER_TOKEN

MUCH: Final = 0.10
"""A cause that costs this share of a template's input has the rule's severity."""
SOME: Final = 0.02
"""With this share it is one step less severe, with a smaller one it is a hint."""


OFTEN: Final = 0.25
"""Of a template's requests."""


def losses(*kinds: str, severity: Severity, often: Severity | None = None) -> Check[Traffic]:
    """The check for losses of these causes (prefix.explanations and lint.traffic).

    severity: of a costly one. often: of a costly one that strikes many requests, None is no other.
    """

    def find(document: Traffic) -> Iterator[Sighting]:
        for loss in document.losses:
            if loss.kind in kinds:
                yield _sighting(loss, _severity(loss, severity, often))

    return Check(Traffic, find)


def _sighting(loss: Loss, severity: Severity) -> Sighting:
    tokens = round(loss.recoverable_bytes / BYTES_PER_TOKEN)
    place = "" if loss.offset is None else f" at {loss.offset:,}"
    return Sighting(
        message=(
            f"{_title(loss.kind)} in {loss.pointer}{place}: {loss.occurrences:,} of {loss.requests:,} requests part"
            f" here, about {tokens:,} tokens recoverable ({loss.share:.0%} of their input)"
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


def _severity(loss: Loss, severity: Severity, often: Severity | None) -> Severity:
    if often is not None and loss.share >= MUCH and loss.frequency >= OFTEN:
        return often
    return lowered(severity, loss.share)


def _title(kind: str) -> str:
    return "another response format" if kind == "response_format" else _TITLES[kind]


_TITLES: Final[dict[str, str]] = {kind: explanation.title for kind, explanation in EXPLANATIONS.items()}


def lowered(severity: Severity, share: float) -> Severity:
    """The severity of a cause that costs this share of the input."""
    steps = 0 if share >= MUCH else 1 if share >= SOME else 2
    return SEVERITIES[max(0, SEVERITIES.index(severity) - steps)]
