"""session: every turn of a session on one worker.

For comparison, and for engines that keep more of a session than its prefix (an adapter, a tool sandbox). Stateless:
the session's name (without one, the prompt's first blocks) and the worker's name are hashed together, and the worker
with the highest hash has the session (rendezvous hashing). So every gateway agrees without talking, and when a worker
comes or goes only its sessions move. Load is not looked at.

Sources: Thaler, Ravishankar, "Using Name-Based Mappings to Increase Hit Rates" (1998); the session affinity of HTTP
load balancers (NGINX `hash`, Envoy's MAGLEV and RING_HASH on a header).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xxhash import xxh3_64_intdigest

from gateway.policies import Candidate, Reason, Request, prefix_point


@dataclass(frozen=True, slots=True)
class Session:
    """The cost of a worker is minus the hash of session and worker."""

    reason: ClassVar[Reason | None] = "session"

    def costs(self, request: Request, candidates: Sequence[Candidate], /) -> Sequence[float]:
        """Minus 64-bit hashes, in units of 2**64."""
        name = request.session
        seed = prefix_point(request) if name is None else xxh3_64_intdigest(name.encode("utf-8", "replace"))
        return [-(xxh3_64_intdigest(c.worker.encode(), seed) / 2**64) for c in candidates]


POLICY = Session()
