"""random: any worker, by lot.

For comparison: the floor under every policy. The lot is drawn from the router's seed and the request's number, so a
replay places every request as before.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from gateway.policies import Candidate, Reason, Request, scramble


@dataclass(frozen=True, slots=True)
class Random:
    """The cost of one worker is 0, of all others 1."""

    reason: ClassVar[Reason | None] = "lot"

    def costs(self, request: Request, candidates: Sequence[Candidate], /) -> Sequence[float]:
        """0 for the one that was drawn."""
        drawn = scramble(scramble(request.seed) ^ request.number) % len(candidates)
        return [float(nth != drawn) for nth in range(len(candidates))]


POLICY = Random()
