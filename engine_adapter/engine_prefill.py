"""Admission: which waiting prompts the next prefill iteration takes, and how much of each.

One idea: two budgets. Memory: what is free or evictable, less what running requests may still need and what
this pass has promised. Compute: tokens of one chunk, and of one iteration. A port of SGLang 0.5.23's
PrefillAdder and PrefillBudget (managers/schedule_policy.py, mem_cache/prefill_budget.py).
"""

from enum import Enum, auto

from engine_adapter.engine_decode import DecodeBatch
from engine_adapter.engine_request import CLIPPED_OUTPUT, Chunk, EngineConfig, EngineRequest
from prefix.radix import RadixCache


class Verdict(Enum):
    """What the last look at the budgets says about the next request."""

    GO_ON = auto()
    NO_MEMORY = auto()
    NO_COMPUTE = auto()


GO_ON, NO_MEMORY, NO_COMPUTE = Verdict  # Python 3.11 takes as long to find a member of an Enum as ten local names


class PrefillPass:
    """One pass over the queue. `chunks` is the batch; `cut` the request whose prompt did not fit in its chunk."""

    def __init__(self, config: EngineConfig, cache: RadixCache, batch: DecodeBatch, output_ratio: float) -> None:
        self._page = config.page_tokens
        self._cache = cache
        self._promised = batch.output_left(output_ratio)
        self._promised_now = 0
        self._iteration_left = config.prefill_tokens
        self._chunk_left = config.chunk_tokens
        self.chunks: list[Chunk] = []
        self.cut: EngineRequest | None = None

    def verdict(self) -> Verdict:
        """Whether another request may be looked at."""
        available = self._cache.available_tokens
        if available <= self._promised or available <= self._promised_now:
            return NO_MEMORY
        if self._iteration_left <= 0 or self._chunk_left <= 0:
            return NO_COMPUTE
        return GO_ON

    def resume(self, request: EngineRequest) -> None:
        """The next chunk of a prompt that was cut before; it must make progress to give its memory back."""
        left = request.length - request.computed
        limit = min(self._chunk_left, int(self._room()))
        size = min(left, limit if limit > 0 else self._chunk_left)
        if size < left:
            self.cut = request
        self._take(request, request.computed, size, 0 if self.cut else request.max_output_tokens)

    def admit(self, request: EngineRequest) -> Verdict:
        """Match a waiting request and take it, whole or its first chunk, if the budgets allow."""
        cache, length = self._cache, request.prompt_tokens + request.produced
        node, matched = cache.match(request.key, length - 1, request.namespace)
        request.matched = matched
        cache.lock(node)
        size = length - matched
        output = min(request.max_output_tokens - request.produced, CLIPPED_OUTPUT)
        verdict = GO_ON
        if size + output + self._page >= self._room():
            verdict = NO_MEMORY
        elif cache.aligned(size) > self._chunk_left:
            size = (matched + self._chunk_left) // self._page * self._page - matched
            self.cut = request
            if size <= 0:
                self.cut, verdict = None, NO_COMPUTE
        if verdict is not GO_ON:
            cache.unlock(node)
            return verdict
        request.node, request.stored = node, matched
        self._take(request, matched, size, 0 if self.cut else request.max_output_tokens)
        return self.verdict()

    def _take(self, request: EngineRequest, start: int, size: int, output: int) -> None:
        pages = self._cache.aligned(size)
        self.chunks.append(Chunk(request, start, start + size))
        self._promised += pages + self._page + min(output, CLIPPED_OUTPUT)
        self._promised_now += pages + self._page
        self._iteration_left -= pages
        self._chunk_left -= pages

    def _room(self) -> float:
        return self._cache.available_tokens - self._promised
