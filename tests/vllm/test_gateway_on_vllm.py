"""The gateway before a real vLLM on the CPU: found out, its load, its cached tokens, its salt, a flush, a restart."""

import asyncio
import os
from collections.abc import Iterator
from typing import Any

import pytest

from engine_adapter.engine import State
from examples.child_server import ChildServer
from examples.real_vllm_cpu.server import is_set_up, vllm_server
from gateway.config import CustomerConfig
from gateway.identity import new_key
from tests.gateway.running import Running, running, until

pytestmark = [pytest.mark.engines, pytest.mark.timeout(600)]

CHAT, MESSAGES, RESPONSES = "/v1/chat/completions", "/v1/messages", "/v1/responses"
PORT = int(os.environ.get("PREFIXGATE_TEST_VLLM_PORT", "21960"))
SYSTEM = "You are a helpful assistant that answers in one short sentence. " * 20
SECRET = {"PREFIXGATE_ISOLATION_SECRET": "0123456789abcdef"}


@pytest.fixture(scope="module")
def server() -> Iterator[ChildServer]:
    """One engine with a KV cache of 8,192 tokens."""
    if not is_set_up():
        pytest.fail("no vLLM: run `python -m examples.real_vllm_cpu.server setup`", pytrace=False)
    with vllm_server(PORT) as started:
        yield started


def chat(question: str, system: str = SYSTEM, **more: Any) -> dict[str, Any]:
    """A chat behind a long system prompt."""
    messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    return {"model": "tiny", "max_tokens": 4, "messages": messages, **more}


async def cached(gateway: Running, body: dict[str, Any], path: str = CHAT, **headers: str) -> int | None:
    """Cached tokens of an answered request, in whole blocks."""
    status, answer = await gateway.ask(path, body, **headers)
    assert status == 200, answer
    record = await gateway.last_record()
    assert record.input_tokens is not None
    assert (record.cached_tokens or 0) % 32 == 0
    return record.cached_tokens


async def test_it_is_found_and_its_usage_read(server: ChildServer) -> None:
    """What it is, and the cached tokens of whole answers, streams and two more APIs."""
    async with running(server) as gateway:
        (worker,) = gateway.workers
        assert worker.info is not None
        assert (worker.engine.kind, worker.info.version, worker.models) == ("vllm", "0.32.0", ("tiny",))
        assert (worker.info.kv_capacity_tokens, worker.info.page_size, worker.info.max_model_len) == (8192, 32, 4096)
        assert await cached(gateway, chat("one")) == 0
        assert (await cached(gateway, chat("two")) or 0) > 200
        assert (await cached(gateway, chat("three", stream=True)) or 0) > 200
        assert worker.cache_report is True
        user = [{"role": "user", "content": SYSTEM}]
        for path, body in (
            (MESSAGES, {"model": "tiny", "max_tokens": 2, "messages": user}),
            (RESPONSES, {"model": "tiny", "max_output_tokens": 2, "input": SYSTEM}),
        ):
            await cached(gateway, body, path)
            assert (await cached(gateway, body, path) or 0) > 200


async def test_a_salt_keeps_customers_apart(server: ChildServer) -> None:
    """The same prompt is cold for the second customer, warm for the first one's next request."""
    keys = {name: new_key() for name in "ab"}
    customers = {name: CustomerConfig(keys=(hashed,), isolate_cache=True) for name, (_, hashed) in keys.items()}
    prompt = chat("secret", "Something private that only one of the customers may know about. " * 20)
    async with running(server, customers=customers, environ=SECRET) as gateway:
        seen = [await cached(gateway, prompt, authorization=f"Bearer {keys[name][0]}") for name in "aab"]
    assert (seen[0], seen[2]) == (0, 0)
    assert (seen[1] or 0) > 200


async def test_load_flush_and_restart(server: ChildServer) -> None:
    """More requests than fit show as waiting; an emptied cache and another process are noticed within two seconds."""
    async with running(server) as gateway:
        (worker,) = gateway.workers
        router = gateway.app.models.group("tiny").router
        long = [chat(f"{n}", f"{n} word " * 700, max_tokens=1000, ignore_eos=True) for n in range(10)]
        asks = [asyncio.ensure_future(gateway.ask(CHAT, body)) for body in long]
        await until(lambda: worker.load is not None and bool(worker.load.waiting))
        assert worker.load is not None
        assert worker.load.running > 0
        assert (worker.load.waiting_uncached_tokens or 0) > 0
        assert 0.1 < (worker.kv_usage or 0) <= 1
        for each in asks:
            each.cancel()
        await until(lambda: worker.load is not None and worker.load.running == 0)
        await cached(gateway, chat("again"))
        assert router.blocks_held(worker.id) > 0
        status, _ = await gateway.ask(CHAT, chat("x", model="nosuch"))
        assert status == 404
        async with gateway.http.post(f"{server.url}/reset_prefix_cache") as response:
            assert response.status == 200
        await until(lambda: router.blocks_held(worker.id) == 0)
        await cached(gateway, chat("again"))
        server.stop()
        await until(lambda: worker.state is State.DOWN)
        assert router.blocks_held(worker.id) == 0
