"""engine_adapter.simulated_kv: the simulated engine's events are the real one's."""

import base64
import json
from array import array
from pathlib import Path
from typing import Any

import msgspec

from engine_adapter.simulated_kv import Recorder
from prefix.radix import RadixCache

RECORDED = Path(__file__).parents[1] / "data" / "kv_events" / "sglang-0.5.23.json"
PAGE = 16


def recorder(capacity: int = 1 << 20) -> tuple[RadixCache, Recorder]:
    """A cache that is recorded; its first event, that it is empty, is taken."""
    cache = RadixCache(capacity, PAGE)
    made = cache.observer = Recorder(cache.page_bytes, lambda: None)
    assert made.take() == [{"type": "AllBlocksCleared"}]
    return cache, made


def key(ids: list[int]) -> bytes:
    return array("I", ids).tobytes()


def test_stored_pages_are_told_as_the_engine_tells_them() -> None:
    """Names, parents, tokens and tier of every prompt that found as much in the recorded engine's cache."""
    cache, made = recorder()
    same = 0
    for step in json.loads(RECORDED.read_text())["steps"]:
        if step["salt"] is not None:
            continue
        cached = cache.serve(key(step["ids"]), len(step["ids"]))
        ours = made.take()
        said: list[Any] = msgspec.msgpack.decode(base64.b64decode(step["events"][0][1]))[1]
        theirs = [event for event in said if event["type"] == "BlockStored"]
        if cached == step["cached"] and theirs:
            (event,) = ours
            assert event == theirs[0]
            same += 1
    assert same >= 5


def test_evictions_splits_and_flushes() -> None:
    """A node that was cut in two is evicted in parts, under the names its pages were stored with."""
    cache, made = recorder(capacity=8 * PAGE)
    cache.serve(key(list(range(64))), 64)
    (first,) = made.take()
    cache.serve(key([*range(32), *range(500, 533)]), 65)
    (second,) = made.take()
    assert second["parent_block_hash"] == first["block_hashes"][1]
    cache.serve(key(list(range(900, 964))), 64)
    removed = [name for event in made.take() if event["type"] == "BlockRemoved" for name in event["block_hashes"]]
    assert removed == first["block_hashes"][2:]
    cache.reset()
    assert made.take() == [{"type": "AllBlocksCleared"}]


def test_salts_have_names_of_their_own() -> None:
    """And say so."""
    cache, made = recorder()
    cache.serve(key(list(range(64))), 64, "salt")
    cache.serve(key(list(range(64))), 64)
    salted, plain = made.take()
    assert salted["cache_salt"] == "salt"
    assert "cache_salt" not in plain
    assert not set(salted["block_hashes"]) & set(plain["block_hashes"])
