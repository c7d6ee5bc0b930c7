"""expected-ttft: the worker that should give the first token soonest. The default.

Everything is counted in prompt tokens to prefill, the unit of waiting:

    cost = wait + price * uncached + private + 0.02 * kv + memory

- `wait`: what is queued before this request, less the prefill under way (the router drains it). On a worker that was
  seen to prefill slower than the others (gateway.pace), its tokens and the uncached ones count for more.
- `uncached`: what this worker would have to prefill for it. It also delays those who come later, so its price is
  1 + 0.5 b / (1 - b), b being the share of workers that requests found with a queue lately (the delay of others grows
  like that in a queue). At most 5.5, as b is overrated where answers do not stream and first tokens are not seen.
  4 more for each second of backlog on the least loaded worker: when all queues are long, what counts is the total
  work, so prefixes must not be copied. At most 40.
- `private`: what this worker lacks of the longest overlap and nobody in flight shares (a session's own history) costs
  one token more: unlike a hot prefix the copy serves nobody else, and the old one stays behind as waste.
- `kv`: 2 % of the distinct KV tokens in flight with this request added: a long batch decodes slower.
- `memory`: above 80 % of the KV capacity requests wait for others to end: the mean decode time, in tokens, times the
  share of memory in flight that is too much.

A worker that joined or restarted holds nothing, so affinity would keep it idle until new prompts come. One request in
eight may warm it up: of what it lacks of the longest overlap, half a second of prefill is free at first, and nothing
any more once it is as full as the others were. So it gets some known prompts at once, no client waits longer than
that for it, and fewer than one in eight misses.

A hot prefix is copied once its holder's queue costs more than computing it again. Only where its prefill is done and
the answers are long, so that nothing queues, a bound is needed: a worker with 32 requests in flight, and 1.25 times
its fair share of all, is taken only if all are that full (bounded loads). Where the fair share itself is above 32,
batches are large everywhere and twice the share is allowed: 1.25 cost 11 % of mean TTFT on bursts there.

Source: a placement study on five public traces (Mooncake conversation and synthetic, WEKA Claude Code sessions,
ShareGPT, shared prefixes with bursts) in simulation, against the policies of SGLang, Dynamo, llm-d, Preble and AIBrix
and LMetric. What leaving a part out cost there in mean TTFT: the price rising with backlog 8 % (49 % on bursts),
draining 7 %, memory 4 %; plain `wait + uncached` 93 %. The price that rises with `b`, `private`, the bound and the
weight of `kv` are later, chosen on the first halves of the traces in simulation (docs/routing.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from gateway.policies import Candidate, Reason, Request

CROWDED = 1e12
"""Tokens that a crowded worker costs more: more than any queue."""


@dataclass(frozen=True, slots=True)
class ExpectedTtft:
    """price, price_busy, price_per_s, price_limit: of an uncached token; crowd: requests; others: see the module."""

    price: float = 1.0
    price_busy: float = 0.5
    busy_limit: float = 0.9
    price_per_s: float = 4.0
    price_limit: float = 40.0
    private: float = 1.0
    kv: float = 0.02
    kv_share: float = 0.8
    crowd: int = 32
    fair_share: float = 1.25
    busy_share: float = 2.0
    warm_up_s: float = 0.5
    reason: ClassVar[Reason | None] = None

    def costs(self, request: Request, candidates: Sequence[Candidate], /) -> Sequence[float]:
        """Expected tokens of prefill before the first token of this request and of those behind it."""
        rate, per_kv, kv_share = request.prefill_rate, self.kv, self.kv_share
        price = self.uncached_price(request, candidates)
        crowded = self.crowded(candidates)
        longest, shared = _longest(candidates)
        costs = []
        for c in candidates:
            kv, overlap, capacity = c.kv_tokens, c.overlap, c.kv_capacity
            cost = c.wait + price * c.slowness * c.uncached + per_kv * kv
            if capacity is not None and kv > kv_share * capacity:
                cost += rate * request.decode_s * (kv - kv_share * capacity) / kv
            if overlap < longest:
                missing = longest - overlap
                private = self.private * (longest - max(overlap, shared))
                cost += private
                if c.cold:
                    free = min(1.0, self.warm_up_s * rate * c.cold / missing)
                    cost -= free * (private + price * missing)
            costs.append(cost if c.in_flight < crowded else cost + CROWDED)
        return costs

    def uncached_price(self, request: Request, candidates: Sequence[Candidate]) -> float:
        """Tokens of waiting, of all together, for each token that has to be prefilled."""
        backlog_s = min([c.pending for c in candidates]) / request.prefill_rate
        busy = min(request.busy, self.busy_limit)
        delay = busy / (1 - busy)
        return min(self.price_limit, self.price + self.price_busy * delay + self.price_per_s * backlog_s)

    def crowded(self, candidates: Sequence[Candidate]) -> float:
        """Requests in flight from which on a worker has too many."""
        share = (sum([c.in_flight for c in candidates]) + 1) / len(candidates)
        return max(self.crowd, self.fair_share * share) if share <= self.crowd else self.busy_share * share


def _longest(candidates: Sequence[Candidate]) -> tuple[int, float]:
    """The longest overlap, and how much of it requests in flight share where it is held."""
    overlaps = [c.overlap for c in candidates]
    longest = max(overlaps)
    if not longest:
        return 0, 0.0
    holder = candidates[overlaps.index(longest)]
    return longest, longest * holder.pinned_blocks / holder.known_blocks


POLICY = ExpectedTtft()
