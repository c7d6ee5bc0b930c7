"""round-robin: the worker whose last turn is longest ago.

For comparison. Equal to counting through a list while the list stays the same; when candidates come and go (retry,
drain, breaker) everybody else keeps their turn, and a worker that joins is next.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from gateway.policies import Candidate, Reason, Request


@dataclass(frozen=True, slots=True)
class RoundRobin:
    """The cost of a worker is the number of the last request it got."""

    reason: ClassVar[Reason | None] = "turn"

    def costs(self, _request: Request, candidates: Sequence[Candidate], /) -> Sequence[float]:
        """Number of the last request."""
        return [c.last_routed for c in candidates]


POLICY = RoundRobin()
