"""engine_adapter.simulated_ranks: caches and queues of their own behind one address, as SGLang has them."""

from typing import Any

import aiohttp
import msgspec
import pytest

from engine_adapter.engine_request import EngineConfig, EngineRequest
from engine_adapter.simulated import SimulatedEngine
from engine_adapter.simulated_options import EngineOptions, read_options
from engine_adapter.simulated_ranks import Ranks
from prefix.errors import EngineError
from prefix.radix import token_key


def request() -> EngineRequest:
    """Ten tokens, and one more."""
    return EngineRequest(key=token_key(range(11)), prompt_tokens=10, output_tokens=1, max_output_tokens=1)


def test_ranks_take_turns_unless_one_is_named() -> None:
    """Without a rank the next one; with one that one; none that is not there."""
    ranks = Ranks(EngineConfig(), 3, 1.0)
    first, second, third, again = (ranks.pick(None) for _ in range(4))
    assert len({first, second, third}) == 3
    assert again is first
    assert ranks.pick(1) is ranks.pick(1) is second
    for rank in (-1, 3):
        with pytest.raises(EngineError, match=r"out of range \[0, 3\)"):
            ranks.pick(rank)


def test_a_flush_takes_all_ranks_or_none() -> None:
    """One busy rank refuses it for all."""
    ranks = Ranks(EngineConfig(page_tokens=1), 2, 1.0)
    ranks.models[0].submit(request())
    while ranks.models[0].step():
        pass
    ranks.models[1].submit(request())
    held = ranks.models[0].cache.cached_tokens
    assert not ranks.flush()
    assert ranks.models[0].cache.cached_tokens == held > 0
    while ranks.models[1].step():
        pass
    assert ranks.flush()
    assert not any(model.cache.cached_tokens for model in ranks.models)


async def test_each_rank_caches_and_tells_for_itself() -> None:
    """A prompt hits on the rank that had it only; loads and metrics have both; a wrong rank is 400."""
    options = EngineOptions(dp=2, speed=1000.0)
    async with SimulatedEngine(options) as engine, aiohttp.ClientSession(engine.url) as http:

        async def cached(rank: int) -> int:
            body = {"input_ids": list(range(64)), "sampling_params": {"max_new_tokens": 1}, "routed_dp_rank": rank}
            async with http.post("/generate", json=body) as response:
                answer: dict[str, Any] = await response.json()
            return int(answer["meta_info"]["cached_tokens"]) if response.status == 200 else -response.status

        assert [await cached(rank) for rank in (0, 0, 1, 1, 2)] == [0, 48, 0, 48, -400]
        async with http.get("/v1/loads") as response:
            loads = msgspec.json.decode(await response.read())["loads"]
        assert [load["dp_rank"] for load in loads] == [0, 1]
        async with http.get("/server_info") as response:
            info = await response.json()
        assert (info["dp_size"], len(info["internal_states"])) == (2, 2)
        async with http.get("/metrics") as response:
            page = await response.text()
        assert page.count("# TYPE sglang:page_size gauge") == 1
        assert [line.count(f'dp_rank="{n}"') for n, line in enumerate(_lines(page, "page_size"))] == [1, 1]


def _lines(page: str, name: str) -> list[str]:
    return [line for line in page.splitlines() if line.startswith(f"sglang:{name}{{")]


def test_the_command_line_has_them() -> None:
    """One rank unless told otherwise."""
    assert (read_options([]).dp, read_options(["--dp", "4"]).dp) == (1, 4)
