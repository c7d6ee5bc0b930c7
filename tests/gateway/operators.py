"""What tests of the operators' API share: a gateway with one simulated engine, and what they ask of both."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from engine_adapter.engine_request import EngineConfig
from engine_adapter.simulated import SimulatedEngine
from engine_adapter.simulated_options import EngineOptions
from tests.gateway.running import CHAT, Running, running

RULES = "Answer in one sentence, name the document, and never guess. " * 40


@asynccontextmanager
async def one_engine(page: int = 16, **settings: Any) -> AsyncIterator[Running]:
    """A gateway in front of a simulated engine."""
    engine = SimulatedEngine(EngineOptions(speed=1e6, config=EngineConfig(page_tokens=page)))
    await engine.start()
    try:
        async with running(engine, **settings) as gateway:
            yield gateway
    finally:
        await engine.stop()


def asks(system: str, question: str = "Which?", **more: Any) -> dict[str, Any]:
    """A chat request."""
    messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    return {"model": "simulated", "max_tokens": 2, "messages": messages, **more}


async def sent(gateway: Running, body: dict[str, Any], **headers: str) -> dict[str, Any]:
    """Send a request; what `/api/requests/{id}` says of it."""
    async with gateway.post(CHAT, body, **headers) as response:
        assert response.status == 200
        await response.read()
        name = response.headers["x-prefixgate-request-id"]
    await gateway.last_record()
    return await got(gateway, f"/api/requests/{name}")


async def got(gateway: Running, path: str, code: int = 200) -> Any:
    """The JSON of a GET."""
    async with gateway.http.get(path) as response:
        assert response.status == code, await response.text()
        return msgspec.json.decode(await response.read())
