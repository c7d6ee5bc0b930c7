"""What canonical prompts buy on a real SGLang: cached tokens, with the level on and off."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.gateway.running import CHAT, Running, running
from tests.integration.engines import TINY, Engines

pytestmark = pytest.mark.engines

CLIENT = """
import json, random, sys
names = {"lookup_order", "refund_order", "search_catalogue", "escalate", "send_mail", "close_ticket"}
rng = random.Random(int(sys.argv[1]))
def schema():
    words = {"type": "object", "description": "What it needs.", "required": ["id", "why"], "properties": {
        "id": {"type": "string", "description": "The number."}, "why": {"description": "Why.", "type": "string"}}}
    keys = list(words)
    rng.shuffle(keys)
    rng.shuffle(words["required"])
    return {key: words[key] for key in keys}
tools = [{"type": "function", "function": {"name": n, "description": n * 8, "parameters": schema()}} for n in names]
rng.shuffle(tools)
print(json.dumps({"model": "tiny", "max_tokens": 1, "temperature": 0, "tools": tools,
                  "messages": [{"role": "user", "content": "Where is my parcel?"}]}))
"""
"""A client process of its own: it holds its tools in a set and writes its schemas as they come."""


def body_of_client(seed: int) -> bytes:
    """What one client process sends."""
    environment = os.environ | {"PYTHONHASHSEED": str(seed)}
    run = [sys.executable, "-c", CLIENT, str(seed)]
    return subprocess.run(run, env=environment, capture_output=True, check=True).stdout


async def cached_of(gateway: Running, body: bytes) -> tuple[int, int]:
    """(cached, prompt) tokens the engine reports for a chat request."""
    status, answer = await gateway.ask(CHAT, body)
    assert status == 200, answer
    usage: dict[str, Any] = json.loads(answer)["usage"]
    return usage["prompt_tokens_details"]["cached_tokens"], usage["prompt_tokens"]


@pytest.mark.parametrize("level", ["safe", "off"])
async def test_clients_with_the_same_tools_share_the_prefix_only_when_it_is_canonical(
    engines: Engines, level: str
) -> None:
    """Tool order, keyword order and process: at `safe` the second client hits like a repeat, at `off` it does not."""
    first, second = body_of_client(1), body_of_client(2)
    assert first != second
    (engine,) = engines.take(1)
    async with running(engine, level=level) as gateway:
        cold, prompt = await cached_of(gateway, first)
        other, _ = await cached_of(gateway, second)
        repeat, _ = await cached_of(gateway, second)
    print(
        f"level {level}: {prompt} prompt tokens; cached {cold} cold, {other} for the other client, {repeat} repeated"
    )
    whole_pages = (prompt - 1) // TINY.page_size * TINY.page_size
    assert cold < prompt // 4
    assert repeat == whole_pages
    assert (other == whole_pages) if level == "safe" else (other < whole_pages // 2)
