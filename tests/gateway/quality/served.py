"""A server that knows the built-in suite's right answers, and errs as it is told."""

import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from aiohttp import web

from gateway.quality.tasks import AnyTask, ToolCalls

Wrong = Callable[[AnyTask, str], str]


def dropped_keys(seed: int, rate: float) -> Wrong:
    """In so many JSON answers a required key is missing."""
    draw = random.Random(seed)

    def wrong(task: AnyTask, reference: str) -> str:
        if task.kind != "json_schema" or draw.random() >= rate:
            return reference
        value = msgspec.json.decode(reference)
        del value[draw.choice(list(value))]
        return msgspec.json.encode(value).decode()

    return wrong


def noise(seed: int, rate: float) -> Wrong:
    """So many answers are nonsense, of whatever kind."""
    draw = random.Random(seed)
    return lambda _, reference: "?" if draw.random() < rate else reference


@asynccontextmanager
async def serving(tasks: list[AnyTask], wrong: Wrong, seen: list[dict[str, Any]] | None = None) -> AsyncIterator[str]:
    """Its URL."""
    by_prompt = {task.prompt: task for task in tasks}

    async def models(_: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "m"}]})

    async def chat(request: web.Request) -> web.Response:
        body = await request.json()
        if seen is not None:
            seen.append(body)
        task = by_prompt[body["messages"][-1]["content"]]
        return web.json_response({"choices": [{"message": _message(task, wrong), "finish_reason": "stop"}]})

    app = web.Application()
    app.add_routes([web.get("/v1/models", models), web.post("/v1/chat/completions", chat)])
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield site.name
    finally:
        await runner.cleanup()


def _message(task: AnyTask, wrong: Wrong) -> dict[str, Any]:
    if isinstance(task, ToolCalls) and wrong(task, "called") == "called":
        calls = [
            {
                "id": "1",
                "type": "function",
                "function": {"name": c.name, "arguments": msgspec.json.encode(c.arguments).decode()},
            }
            for c in task.expected
        ]
        return {"role": "assistant", "content": None, "tool_calls": calls}
    return {"role": "assistant", "content": wrong(task, task.reference or "")}
