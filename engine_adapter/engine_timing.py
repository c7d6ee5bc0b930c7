"""How long an engine iteration takes: a stated model, derived from FLOPs and bandwidth, not measured.

Prefill is compute bound: a token at context position c costs (1 + c / attention_tokens) / prefill_tokens_per_s,
an iteration adds a fixed overhead. Decode is memory bound: the weights once a step, a little per request, and
the key-value cache of every running token. `70b` is Llama-3-70B bf16 on TP4 H100, `8b` Llama-3-8B on one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from types import MappingProxyType


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Seconds of prefill and decode iterations.

    attention_tokens: context length at which attention doubles the cost of a token.
    """

    prefill_tokens_per_s: float
    attention_tokens: float
    prefill_step_s: float
    decode_step_s: float
    decode_request_s: float
    decode_token_s: float

    def prefill_s(self, start: int, end: int) -> float:
        """Seconds to compute the prompt tokens [start, end) of one request, without the iteration's overhead."""
        attention = (end * end - start * start) / (2 * self.attention_tokens)
        return (end - start + attention) / self.prefill_tokens_per_s

    def decode_s(self, requests: int, context_tokens: int, steps: int = 1) -> float:
        """Seconds of so many decode steps of `requests` that have `context_tokens` cached tokens together."""
        first = self.decode_step_s + self.decode_request_s * requests + self.decode_token_s * context_tokens
        return steps * first + self.decode_token_s * requests * (steps * (steps - 1) // 2)

    def decode_until(self, requests: int, context_tokens: int, seconds: float, most: int) -> tuple[int, float]:
        """How many decode steps, 1 to `most`, it takes until `seconds` are over; and how long they take."""
        taken = self.decode_s(requests, context_tokens, most)
        if taken <= seconds:
            return most, taken
        grow = self.decode_token_s * requests / 2
        half = (self.decode_s(requests, context_tokens) - grow) / 2
        steps = max(1, int(seconds / (half + sqrt(half * half + grow * seconds))))
        while (taken := self.decode_s(requests, context_tokens, steps)) < seconds:
            steps += 1
        return steps, taken


PROFILES: Mapping[str, Timing] = MappingProxyType(
    {
        "70b": Timing(
            prefill_tokens_per_s=8_000,
            attention_tokens=54_000,
            prefill_step_s=20e-3,
            decode_step_s=16e-3,
            decode_request_s=50e-6,
            decode_token_s=35e-9,
        ),
        "8b": Timing(
            prefill_tokens_per_s=25_000,
            attention_tokens=30_000,
            prefill_step_s=9e-3,
            decode_step_s=7e-3,
            decode_request_s=50e-6,
            decode_token_s=56e-9,
        ),
    }
)
