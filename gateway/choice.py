"""Which of the priced candidates is taken, and why. Pure.

One idea: a policy prices, and what is left to decide is the same for all of them. Of equals the one with the fewest
in flight is taken, then the least work so far, then one by lot, so that unrelated prompts spread at any load.
"""

from collections.abc import Sequence

from gateway.policies import Candidate, Reason, scramble


def survey(candidates: Sequence[Candidate]) -> tuple[int, int, int]:
    """The largest overlap, how many have prompts to prefill, and the most blocks that are computed."""
    overlap = pending = computed = 0
    for c in candidates:
        if c.pending > 0:
            pending += 1
        if c.known_blocks:
            if c.overlap > overlap:
                overlap = c.overlap
            if c.computed_blocks > computed:
                computed = c.computed_blocks
    return overlap, pending, computed


def cheapest(costs: Sequence[float], candidates: Sequence[Candidate], seed: int, number: int) -> Candidate:
    """The candidate with the least cost; seed and number of the request draw the lot."""
    least = min(costs)
    if costs.count(least) == 1:
        return candidates[costs.index(least)]
    tied = [c for c, cost in zip(candidates, costs, strict=True) if cost == least]
    fewest = min([(c.in_flight, c.assigned) for c in tied])
    tied = [c for c in tied if (c.in_flight, c.assigned) == fewest]
    return tied[scramble(seed * 0x10001 + number) % len(tied)]


def reason_for(chosen: Candidate, held: int, fleet: int) -> Reason:
    """held, fleet: the largest overlap of any candidate, of any worker."""
    if not fleet:
        return "spread"
    if chosen.overlap < held:
        return "warm_up" if chosen.cold else "cheaper_elsewhere"
    return "affinity" if held == fleet else "holder_excluded"
