"""What the gateway believes of a real engine's life: right within two seconds, from start-up to kill and restart."""

import asyncio
import time
from collections.abc import Callable

import aiohttp
import pytest

from engine_adapter.engine import State
from examples.real_sglang_cpu.engine_process import EngineProcess, Options
from tests.gateway.running import CHAT, Running, running
from tests.integration.engines import TINY

pytestmark = pytest.mark.engines

WITHIN_S = 2.0
START_S = 300.0
LONG_PROMPT = "The cache keeps what it has seen, page by page, until somebody needs the room. " * 30


async def health_status(engine: EngineProcess) -> int | None:
    """What the engine itself says at /health, None when nobody listens."""
    try:
        async with aiohttp.ClientSession() as http, http.get(f"{engine.url}/health") as response:
            return response.status
    except (aiohttp.ClientError, TimeoutError):
        return None


async def when(engine: EngineProcess, status: int | None) -> None:
    """Until the engine answers so."""
    async with asyncio.timeout(START_S):
        while await health_status(engine) != status:
            await asyncio.sleep(0.05)


async def within(promise: str, true: Callable[[], bool]) -> None:
    """Fails unless it becomes so in WITHIN_S; says how long it took."""
    start = time.monotonic()
    while not true():
        assert time.monotonic() - start < WITHIN_S, f"not within {WITHIN_S} s: {promise}"
        await asyncio.sleep(0.02)
    print(f"{promise}: after {time.monotonic() - start:.2f} s")


async def ask(gateway: Running, tokens: int = 4, *, stream: bool = False) -> int:
    """A chat request through the gateway; the status, once the answer is complete."""
    body = {"model": "tiny", "max_tokens": tokens, "stream": stream, "temperature": 0}
    status, answer = await gateway.ask(CHAT, {**body, "messages": [{"role": "user", "content": LONG_PROMPT}]})
    assert not stream or answer.rstrip().endswith(b"data: [DONE]")
    return status


async def test_the_view_is_right_within_two_seconds(own_engine: Callable[[Options], EngineProcess]) -> None:
    """Flush, drain, end, start-up, restart and kill of a real engine, as the gateway sees them."""
    engine = own_engine(TINY)
    async with running(engine, poll_interval_s=0.5) as gateway:
        (worker,) = gateway.workers
        (group,) = gateway.app.models
        held = lambda: group.router.blocks_held(worker.id)  # noqa: E731

        assert await ask(gateway) == 200
        await gateway.last_record()
        assert held() > 0
        await asyncio.to_thread(engine.flush)
        await within("a flush is noticed and the worker's blocks are forgotten", lambda: held() == 0)

        assert await ask(gateway) == 200
        streaming = asyncio.create_task(ask(gateway, 1500, stream=True))
        await asyncio.sleep(0.5)
        engine.terminate()
        await when(engine, 503)
        await within("a draining engine gets no new requests", lambda: worker.state is State.DRAINING)
        assert (await gateway.ask(CHAT, {"model": "tiny", "messages": [{"role": "user", "content": "Hi"}]}))[0] == 503
        assert await streaming == 200, "what was running when the drain began finishes"
        await when(engine, None)
        await within("an engine that has ended is down", lambda: worker.state is State.DOWN)
        assert held() == 0

        await asyncio.to_thread(engine.stop)
        engine.start()
        await when(engine, 503)
        await within("an engine that starts is starting", lambda: worker.state is State.STARTING)
        await when(engine, 200)
        await within("an engine that has started is up", lambda: worker.ready)
        assert await ask(gateway) == 200
        await gateway.last_record()
        assert gateway.records[-1].cached_tokens == 0, "a restarted engine holds nothing"

        await asyncio.to_thread(engine.stop)
        await within("a killed engine is down", lambda: worker.state is State.DOWN)
        assert held() == 0
        assert await ask(gateway) == 503


async def test_an_engine_of_another_model_is_another_group(own_engine: Callable[[Options], EngineProcess]) -> None:
    """Its name is served, and asking for a model nobody serves is 404, not the wrong engine's answer."""
    engine = own_engine(Options(model=TINY.model, served_name="other"))
    async with running(engine) as gateway:
        messages = [{"role": "user", "content": "Hi"}]
        assert (await gateway.ask(CHAT, {"model": "other", "max_tokens": 1, "messages": messages}))[0] == 200
        status, answer = await gateway.ask(CHAT, {"model": "tiny", "max_tokens": 1, "messages": messages})
        assert status == 404
        assert b"model_not_found" in answer
