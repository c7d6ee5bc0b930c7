"""gateway.api: operators see where tokens go and why one request missed, and no text of any prompt."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from engine_adapter.engine_request import EngineConfig
from engine_adapter.simulated import SimulatedEngine
from engine_adapter.simulated_options import EngineOptions
from gateway.app import create_app
from gateway.config import Config
from tests.gateway.running import CHAT, Running, running
from tests.gateway.test_admin import LOCAL, refused, status

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


async def test_a_clock_is_found_and_its_values_are_not_shown() -> None:
    """The tokens behind a clock are `divergent`, with cause and place as the dashboard says them."""
    async with one_engine() as gateway:
        first = await sent(gateway, asks(f"You help. It is 2026-11-30T09:14:07Z. {RULES}"))
        second = await sent(gateway, asks(f"You help. It is 2026-11-30T09:15:29Z. {RULES}"))
    assert set(first["uncached_by_reason"]) == {"page", "new"}
    assert first["divergent"] is None
    why = second["divergent"]
    assert why["cause"] == f"clock in /messages/0/content at {why['offset']}"
    assert (why["kind"], why["pointer"]) == ("clock", "/messages/0/content")
    assert 16 <= why["offset"] <= 32
    assert why["recoverable_tokens"] > 0.9 * second["input_tokens"]
    assert second["uncached_by_reason"]["divergent"] > 0.9 * second["input_tokens"]
    assert all(value.endswith(" characters") for value in why["values"])
    assert "2026" not in msgspec.json.encode(second).decode()
    assert why["advice"]


async def test_the_reasons_of_every_request_add_up() -> None:
    """Exactly to its uncached tokens: in the record, in `/api/cache`, in the metric; an exact repeat is `page`."""
    async with one_engine(page=64) as gateway:
        for body in (asks(RULES), asks(RULES, "What?"), asks(RULES), asks("Else. " + RULES), asks("Hi")):
            await sent(gateway, body, x_prefixgate_prompt_version="v7")
        repeat = gateway.records[2]
        assert repeat.uncached_by_reason == {"page": (repeat.input_tokens or 0) - (repeat.cached_tokens or 0)}
        for record in gateway.records:
            uncached = (record.input_tokens or 0) - (record.cached_tokens or 0)
            assert sum((record.uncached_by_reason or {}).values()) == uncached
        (row,) = (await got(gateway, "/api/cache"))["rows"]
        metrics = await gateway.metrics()
    assert (row["route"], row["customer"], row["prompt_version"], row["requests"]) == (
        "default",
        "anonymous",
        "v7",
        5,
    )
    assert row["hit_rate"] == row["cached_tokens"] / row["input_tokens"]
    assert sum(row["uncached_by_reason"].values()) == row["input_tokens"] - row["cached_tokens"]
    counted = {
        reason: sum(v for k, v in metrics.items() if "uncached_tokens_total" in k and f'reason="{reason}"' in k)
        for reason in row["uncached_by_reason"]
    }
    assert counted == row["uncached_by_reason"]


async def test_cache_rows_group_as_asked() -> None:
    """`by` names the dimensions, the others are null; nothing known has no hit rate; another dimension is a 400."""
    async with one_engine() as gateway:
        assert await got(gateway, "/api/cache?by=route") == {"rows": []}
        for version in ("a", "b", "b"):
            await sent(gateway, asks(RULES), x_prefixgate_prompt_version=version)
        by_version = (await got(gateway, "/api/cache?by=prompt_version"))["rows"]
        (total,) = (await got(gateway, "/api/cache?by="))["rows"]
        error = (await got(gateway, "/api/cache?by=worker", 400))["error"]
    assert [(row["prompt_version"], row["requests"], row["route"]) for row in by_version] == [
        ("a", 1, None),
        ("b", 2, None),
    ]
    assert total["input_tokens"] == sum(row["input_tokens"] for row in by_version)
    assert (error["code"], error["param"]) == ("invalid_query", "by")


async def test_a_request_nobody_remembers_is_a_404() -> None:
    """Also one with an odd id; the id is what the response's header said."""
    async with one_engine() as gateway:
        error = (await got(gateway, "/api/requests/" + "0" * 32, 404))["error"]
    assert error["code"] == "request_not_found"


async def test_the_api_is_documented_and_for_operators_only() -> None:
    """Both paths are in OpenAPI with typed answers, and refuse whoever may not use the admin surface."""
    app = create_app(Config())
    for path in ("/api/cache", "/api/requests/1"):
        await refused(app, path, {"host": "evil.example"})
    document = msgspec.json.decode((await status(app, "/openapi.json", LOCAL))[1])
    for path, name in (("/api/cache", "CacheRows"), ("/api/requests/{request_id}", "ExplainedRequest")):
        answer = document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        assert answer == {"$ref": f"#/components/schemas/{name}"}
    row = document["components"]["schemas"]["CacheRow"]["properties"]
    assert list(row) == [
        *("route", "customer", "prompt_version", "requests", "input_tokens", "cached_tokens", "hit_rate"),
        *("uncached_by_reason", "unknown_requests"),
    ]
