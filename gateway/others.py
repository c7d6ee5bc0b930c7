"""The other processes of one gateway, as its parent's application sees them: none without gateway.processes."""

from collections.abc import Mapping
from typing import Final, Protocol

from gateway.models import Models
from gateway.workers import Workers


class Others(Protocol):
    """What they add to what this process counts itself. Safe to call from any thread but for `workers`."""

    def workers(self, models: Models) -> Workers:
        """The workers of the application, whose changes others may have to be told."""

    def queued(self) -> Mapping[str, int]:
        """Requests waiting for a worker now, by base model."""

    def captures(self) -> Mapping[str, int]:
        """Captures since the gateway began, by what became of them."""

    def restarts(self) -> Mapping[str, int]:
        """How often each process that serves was started anew, by its number."""

    def spans(self) -> Mapping[str, int]:
        """Spans since the gateway began, by what became of them."""


class Alone:
    """There are none."""

    def workers(self, models: Models) -> Workers:
        """Plain ones."""
        return Workers(models)

    def queued(self) -> Mapping[str, int]:
        """Nothing."""
        return {}

    captures = spans = queued

    def restarts(self) -> Mapping[str, int]:
        """This one, which was not."""
        return {"1": 0}


NO_OTHERS: Final[Others] = Alone()


def together(ours: Mapping[str, int], theirs: Mapping[str, int]) -> Mapping[str, int]:
    """The sums, by name."""
    return {name: ours.get(name, 0) + theirs.get(name, 0) for name in {**ours, **theirs}}
