"""cache-aware: the incumbents' rule. The longest match, unless the fleet is out of balance.

For comparison: SGLang's gateway and the routers derived from it place requests like this.

1. Imbalanced: the busiest worker has more than `balance_abs` requests in flight more than the idlest one, and more
   than `balance_rel` times as many. Then: the worker with the fewest requests, whatever anybody holds.
2. Else, if the longest match covers more than `cache_threshold` of the prompt: the worker that has it.
3. Else: the worker with the fewest requests.

The constants are those of its command line (0.3, 64, 1.5); its source had 0.5, 32, 1.1 for a while. Two things are
kinder here than there: the match comes from the router's own index, which knows the workers' capacity and learns from
`cached_tokens` (theirs is a tree of text that is only ever trimmed by size), and equals are told apart by work and by
lot (theirs takes the first).

Source: sgl-model-gateway/src/policies/cache_aware.rs (sglang-router 0.3.2).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from gateway.policies import Candidate, Reason, Request


@dataclass(frozen=True, slots=True)
class CacheAware:
    """cache_threshold: share of the prompt. balance_abs: requests. balance_rel: a factor."""

    cache_threshold: float = 0.3
    balance_abs: int = 64
    balance_rel: float = 1.5
    reason: ClassVar[Reason | None] = None

    def costs(self, request: Request, candidates: Sequence[Candidate], /) -> Sequence[float]:
        """Minus the blocks that match, or the requests in flight."""
        longest = max([c.known_blocks for c in candidates])
        if longest <= self.cache_threshold * len(request.blocks) or self.imbalanced(candidates):
            return [c.in_flight for c in candidates]
        return [-c.known_blocks for c in candidates]

    def imbalanced(self, candidates: Sequence[Candidate]) -> bool:
        """Whether affinity is given up for this request."""
        loads = [c.in_flight for c in candidates]
        most, least = max(loads), min(loads)
        return most - least > self.balance_abs and most > self.balance_rel * least


POLICY = CacheAware()
