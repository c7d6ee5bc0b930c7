"""llm-d: the weighted scores of llm-d and of the Gateway API's inference extension. For comparison.

The candidate with the highest sum of three scores, each from 0 to 1:

    3 x prefix + 2 x queue + 2 x memory

- `prefix`: the share of the prompt's blocks that the candidate holds.
- `queue`: 1 for the fewest requests that wait for their first token, 0 for the most, in proportion between.
- `memory`: the share of its KV memory that is free. Unknown capacity: half.

There the queue and the memory are scraped from the engines; here they are the router's own count, never late.

Source: the scorers of llm-d's inference scheduler (prefix cache, queue, KV cache utilization) and their weights, as
in the study behind gateway.policies.expected_ttft.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from gateway.policies import Candidate, Reason, Request


@dataclass(frozen=True, slots=True)
class LlmD:
    """The weights of the three scores."""

    prefix: float = 3.0
    queue: float = 2.0
    memory: float = 2.0
    reason: ClassVar[Reason | None] = None

    def costs(self, request: Request, candidates: Sequence[Candidate], /) -> Sequence[float]:
        """Minus the sum of the scores."""
        blocks = len(request.blocks) or 1
        queues = [c.queued for c in candidates]
        most, spread = max(queues), max(queues) - min(queues)
        return [
            -self.prefix * c.known_blocks / blocks
            - (self.queue * (most - c.queued) / spread if spread else self.queue)
            - self.memory * _free(c)
            for c in candidates
        ]


def _free(candidate: Candidate) -> float:
    if candidate.kv_capacity is None:
        return 0.5
    return max(0.0, 1 - candidate.kv_tokens / candidate.kv_capacity)


POLICY = LlmD()
