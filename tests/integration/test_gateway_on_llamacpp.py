"""The gateway before real llama.cpp servers: found out, watched, and a conversation keeps its slot.

`.engines/llamacpp` is made by `make test-engines`.
"""

import asyncio
import json
import os
import random
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from engine_adapter.engine import State
from examples.child_server import ChildServer
from examples.real_llamacpp_cpu.server import is_set_up, llama_server
from tests.gateway.running import running, until

pytestmark = pytest.mark.engines

CHAT, MESSAGES, RESPONSES = "/v1/chat/completions", "/v1/messages", "/v1/responses"
PORT = int(os.environ.get("PREFIXGATE_TEST_LLAMACPP_PORT", "21950"))
WORDS = "the a router sends each request of every client to some engine whose cache holds its prefix".split()
Turn = list[dict[str, str]]


@pytest.fixture
def server() -> Iterator[ChildServer]:
    """One with 4 slots and no RAM cache behind them."""
    if not is_set_up():
        pytest.fail("no llama.cpp: run `python -m examples.real_llamacpp_cpu.server setup`", pytrace=False)
    with llama_server(PORT, "--cache-ram", "0") as started:
        yield started


def conversations() -> list[Turn]:
    """Prompts in order: three growing conversations of one system prompt, one-off questions between their turns."""
    draw = random.Random(7)

    def text(words: int) -> str:
        return " ".join(draw.choice(WORDS) for _ in range(words))

    system = {"role": "system", "content": text(300)}
    histories = [[system] for _ in range(3)]
    prompts: list[Turn] = []
    for _ in range(8):
        for history in histories:
            history.append({"role": "user", "content": text(60)})
            prompts.append(list(history))
            history.append({"role": "assistant", "content": text(60)})
            if draw.random() < 0.5:
                prompts.append([system, {"role": "user", "content": text(40)}])
    return prompts


def ask(url: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """An answer, over real HTTP."""
    request = urllib.request.Request(url + path, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        answer: dict[str, Any] = json.load(response)
    return answer


def hit_rate(url: str) -> float:
    """Cached share of all prompt tokens, one request after the other."""
    prompt = cached = 0
    for messages in conversations():
        usage = ask(url, CHAT, {"model": "tiny", "max_tokens": 1, "temperature": 0, "messages": messages})["usage"]
        prompt += usage["prompt_tokens"]
        cached += usage["prompt_tokens_details"]["cached_tokens"]
    return cached / prompt


async def test_a_conversation_keeps_its_slot(server: ChildServer) -> None:
    """The server's own choice of slots gives histories away for a shared system prompt; through us it does not."""
    alone = await asyncio.to_thread(hit_rate, server.url)
    await asyncio.to_thread(server.restart)
    async with running(server) as gateway:
        (worker,) = gateway.workers
        assert (worker.engine.kind, worker.models, worker.cache_report) == ("llamacpp", ("tiny",), True)
        through = await asyncio.to_thread(hit_rate, gateway.url)
    print(f"\nllama.cpp, 4 slots: cached {alone:.3f} by its own choice, {through:.3f} through the gateway")
    assert through > alone + 0.2


async def test_what_it_says_is_understood(server: ChildServer) -> None:
    """Load, usage of three APIs, a stream's withheld usage, and its end."""
    async with running(server) as gateway:
        (worker,) = gateway.workers
        text = "One two three four five six seven. " * 30
        user = [{"role": "user", "content": text}]
        for path, body in (
            (CHAT, {"messages": user, "max_tokens": 4}),
            (CHAT, {"messages": user, "max_tokens": 4, "stream": True}),
            (MESSAGES, {"messages": user, "max_tokens": 4}),
            (RESPONSES, {"input": text, "max_output_tokens": 4}),
        ):
            status, answer = await gateway.ask(path, {"model": "tiny", **body})
            assert status == 200, answer
            assert b'"choices":[],' not in answer
            record = await gateway.last_record()
            assert record.input_tokens is not None
            assert record.input_tokens > 200
        assert record.cached_tokens == record.input_tokens - 1
        long = {"model": "tiny", "messages": user, "max_tokens": 3000, "stream": True}
        running_one = asyncio.ensure_future(gateway.ask(CHAT, long))
        await until(lambda: worker.load is not None and worker.load.running == 1)
        assert worker.load is not None
        assert (worker.load.waiting, worker.kv_usage) == (0, None)
        running_one.cancel()
        await until(lambda: worker.load is not None and worker.load.running == 0)
        await asyncio.to_thread(server.stop)
        await until(lambda: worker.state is State.DOWN)
