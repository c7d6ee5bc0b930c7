"""engine_adapter.engine_pool: what a request takes from the pool it gives back, and the tree keeps what is whole."""

import pytest

from engine_adapter.engine_decode import DecodeBatch
from engine_adapter.engine_pool import allocate, decode_room, release, room_at_once, store
from engine_adapter.engine_request import Chunk, EngineRequest
from prefix.radix import RadixCache, token_key


@pytest.mark.parametrize("page", [1, 4])
def test_a_request_leaves_nothing_but_what_is_cached(page: int) -> None:
    """Allocated, stored and released: its whole pages are in the tree, all others are free again."""
    cache = RadixCache(64, page)
    request = EngineRequest(key=token_key(range(13)), prompt_tokens=10, output_tokens=3, max_output_tokens=3)
    request.node = cache.root
    cache.lock(cache.root)
    allocate(cache, [Chunk(request, 0, 10)])
    assert (request.computed, cache.held_tokens) == (10, cache.aligned(10))
    store(cache, request)
    assert cache.cached_tokens == 10 // page * page
    assert cache.evictable_tokens == 0
    release(cache, request)
    assert cache.held_tokens == 0
    assert cache.evictable_tokens == cache.cached_tokens


def test_room_is_made_by_eviction_or_refused() -> None:
    """An empty batch takes nothing; what does not fit is said before it is tried."""
    cache, running = RadixCache(16), DecodeBatch(1)
    allocate(cache, [])
    assert cache.held_tokens == 0
    cache.serve(token_key(range(16)), 16)
    assert cache.free_tokens == 0
    assert not room_at_once(cache, running, 1, 17)
    assert room_at_once(cache, running, 1, 1)
    assert decode_room(cache, running)
