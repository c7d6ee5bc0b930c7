"""expected-ttft: the worker that should give the first token soonest. The default.

Everything is counted in prompt tokens to prefill, the unit of waiting:

    cost = wait + price * uncached + 0.05 * kv + memory

- `wait`: what is queued before this request, less the prefill under way (the router drains it).
- `uncached`: what this worker would have to prefill for it. Its price is 1.5 tokens, because prefill delays those who
  come later too, and rises by 4 for each second of backlog on the least loaded worker: when all queues are long, what
  counts is the total work, so prefixes must not be copied. At most 40.
- `kv`: 5 % of the distinct KV tokens in flight with this request added: a long batch decodes slower.
- `memory`: above 80 % of the KV capacity requests wait for others to end: the mean decode time, in tokens, times the
  share of memory in flight that is too much.

A hot prefix needs no rule: it is copied once its holder's queue costs more than computing it again.

Sources: measured on five public traces against the published policies (Dynamo, llm-d, LMetric, SGLang cache_aware,
Preble, AIBrix), mean TTFT 0.66 of SGLang's on tuning traces and 0.72 on others; without the price rising with backlog
1.08x, without draining 1.07x, without kv 1.10x, without memory 1.04x (docs/routing.md has the ablation). The queue
term is LMetric's and Preble's idea, the copy term llm-d's "affinity until too slow".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from gateway.policies import Candidate, Reason, Request


@dataclass(frozen=True, slots=True)
class ExpectedTtft:
    """price, price_per_s, price_limit: of an uncached token. kv_weight, kv_share: see the module."""

    price: float = 1.5
    price_per_s: float = 4.0
    price_limit: float = 40.0
    kv_weight: float = 0.05
    kv_share: float = 0.8
    reason: ClassVar[Reason | None] = None

    def costs(self, request: Request, candidates: Sequence[Candidate], /) -> Sequence[float]:
        """Expected tokens of prefill before the first token of this request and of those behind it."""
        rate, kv_weight, kv_share = request.prefill_rate, self.kv_weight, self.kv_share
        backlog_s = min([c.pending for c in candidates]) / rate
        price = min(self.price_limit, self.price + self.price_per_s * backlog_s)
        costs = []
        for c in candidates:
            kv = c.kv_tokens
            cost = c.wait + price * c.uncached + kv_weight * kv
            if c.kv_capacity is not None and kv > kv_share * c.kv_capacity:
                cost += rate * request.decode_s * (kv - kv_share * c.kv_capacity) / kv
            costs.append(cost)
        return costs


POLICY = ExpectedTtft()
