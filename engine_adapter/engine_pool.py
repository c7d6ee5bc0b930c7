"""How an engine's requests take KV pages from the pool, hand them to the radix tree and give them back.

Read in SGLang 0.5.23 (mem_cache/common.py, allocation.py); engine_adapter.engine_model decides when.
"""

from collections.abc import Sequence

from engine_adapter.engine_decode import DecodeBatch
from engine_adapter.engine_request import Chunk, EngineRequest
from prefix.radix import RadixCache


def allocate(cache: RadixCache, chunks: Sequence[Chunk]) -> None:
    """Evict for the batch (with a spare page each, as the paged allocator asks) and take its pages."""
    if not chunks:
        return
    page = cache.page_tokens
    need = page * len(chunks) if page > 1 else 0
    taken = 0
    for request, start, end in chunks:
        need += end - start
        taken += -(-end // page) + start // -page
        request.computed = end
    cache.make_room(need)
    cache.held_tokens += taken * page


def room_at_once(cache: RadixCache, running: DecodeBatch, steps: int, demand: int) -> bool:
    """Evict as so many steps would one by one, if there is memory for the pages that they start."""
    spare = running.count * cache.page_tokens
    if cache.capacity_tokens - cache.cached_tokens - cache.held_tokens < demand + spare:
        if cache.available_tokens < demand:
            return False
        cache.make_room(running.page_demand(steps - 1) + spare)
    return True


def decode_room(cache: RadixCache, running: DecodeBatch) -> bool:
    """Evict for the pages that this step starts, then for one page a request, as the allocator does."""
    if not cache.make_room(running.page_demand()):
        return False
    cache.make_room(running.count * cache.page_tokens)
    return True


def store(cache: RadixCache, request: EngineRequest) -> None:
    """Hand what is computed to the tree, split at the prompt's end, and lock it there."""
    page = cache.page_tokens
    top, known = request.node, request.stored
    assert top is not None
    whole = request.computed // page * page
    node, _ = cache.insert(request.key, whole, request.namespace, below=top, known=known)
    if known < request.prompt_tokens // page * page < whole:
        cache.insert(request.key, request.prompt_tokens, request.namespace, below=top, known=known)
    cache.held_tokens += known - whole
    request.stored = whole
    if node is not top:
        cache.lock_deeper(top, node)
        request.node = node


def release(cache: RadixCache, request: EngineRequest) -> None:
    """Give back what is not the tree's, and the lock."""
    cache.held_tokens += request.stored - cache.aligned(request.computed)
    if request.node is not None:
        cache.unlock(request.node)
    request.node = None
    request.stored = 0
