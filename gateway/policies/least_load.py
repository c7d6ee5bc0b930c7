"""least-load: the worker with the fewest requests in flight, whatever it holds.

For comparison, and for engines without a prefix cache. It is "least connections" of HTTP load balancers (NGINX
least_conn), counted from the routing decision and not from the first byte, plus what the engine reports beyond that.
Equal workers are told apart by the tokens they were given so far (the router's tie-break).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from gateway.policies import Candidate, Reason, Request


@dataclass(frozen=True, slots=True)
class LeastLoad:
    """The cost of a worker is its requests in flight."""

    reason: ClassVar[Reason | None] = "load"

    def costs(self, _request: Request, candidates: Sequence[Candidate], /) -> Sequence[float]:
        """Requests in flight."""
        return [c.in_flight for c in candidates]


POLICY = LeastLoad()
