"""What a simulation showed: hit rate, times to the first token, balance; and what any placement could have hit.

The first tenth of the requests fills the caches and is left out of every number. Two bounds of the hit rate: one
cache for all engines without limit, and one LRU as large as all engines' memory together (the fair one). Both serve
the requests one after the other, each computed at once.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from gateway.percentile import nearest_rank
from gateway.simulate.fleet import Outcome
from gateway.simulate.workload import PAGE_BYTES, SimulatedRequest
from prefix.radix import RadixCache, cacheable_tokens

UNMEASURED = 0.1
"""Share of the requests that only fills caches."""

NO_LIMIT = 2**62


class Measured(msgspec.Struct, frozen=True):
    """Numbers of one run.

    hit_rate: cached by prompt tokens, 0 to 1. ttft_*: seconds. imbalance: uncached tokens of the engine that had the
    most, by the mean of all (1 is even). given_up_tokens: what another worker was believed to hold beyond the chosen
    one. reasons: decisions by reason.
    """

    requests: int
    input_tokens: int
    cached_tokens: int
    hit_rate: float
    ttft_mean_s: float
    ttft_p50_s: float
    ttft_p90_s: float
    ttft_p99_s: float
    imbalance: float
    given_up_tokens: int
    reasons: Mapping[str, int]


def first_measured(requests: int) -> int:
    """The number of the first request that counts."""
    return int(requests * UNMEASURED)


def measure(requests: Sequence[SimulatedRequest], outcomes: Sequence[Outcome], engines: int) -> Measured:
    """The numbers of one run of one or more requests."""
    first = first_measured(len(requests))
    asked, became = requests[first:], outcomes[first:]
    times = sorted(outcome.ttft_s or 0.0 for outcome in became)
    computed = [0] * engines
    for request, outcome in zip(asked, became, strict=True):
        computed[outcome.engine] += request.prompt_tokens - outcome.cached_tokens
    tokens = sum(request.prompt_tokens for request in asked)
    cached = sum(outcome.cached_tokens for outcome in became)
    routes = [outcome.route for outcome in became]
    return Measured(
        requests=len(asked),
        input_tokens=tokens,
        cached_tokens=cached,
        hit_rate=cached / tokens,
        ttft_mean_s=sum(times) / len(times),
        ttft_p50_s=nearest_rank(times, 0.5),
        ttft_p90_s=nearest_rank(times, 0.9),
        ttft_p99_s=nearest_rank(times, 0.99),
        imbalance=max(computed) * engines / sum(computed),
        given_up_tokens=sum(route.best_fleet_tokens - route.expected_cached_tokens for route in routes),
        reasons=dict(Counter(route.reason for route in routes).most_common()),
    )


def shared_hit_rate(
    requests: Sequence[SimulatedRequest], block_tokens: int, capacity_tokens: int = NO_LIMIT
) -> float:
    """The hit rate of one cache of so many tokens that serves all requests in the order in which they arrive."""
    cache = RadixCache(capacity_tokens, block_tokens, page_bytes=PAGE_BYTES)
    first = first_measured(len(requests))
    tokens = cached = 0
    for number in sorted(range(len(requests)), key=lambda number: requests[number].arrival_s):
        hit = _serve(cache, requests[number])
        if number >= first:
            tokens += requests[number].prompt_tokens
            cached += hit
    return cached / tokens


def _serve(cache: RadixCache, request: SimulatedRequest) -> int:
    """Match the prompt, then store it and the response but for its last token; the tokens that were there."""
    node, hit = cache.match(request.key, cacheable_tokens(request.prompt_tokens, cache.page_tokens))
    total = request.prompt_tokens + request.output_tokens - 1
    cache.lock(node)
    if cache.make_room(cache.aligned(total) - hit):
        cache.insert(request.key, total)
    cache.unlock(node)
    return hit
