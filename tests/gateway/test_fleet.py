"""gateway.health, gateway.models: several models, adapters, and engines that are added, drained and removed."""

from typing import Any

import msgspec
import pytest

from engine_adapter.simulated import SimulatedEngine
from engine_adapter.simulated_options import EngineOptions
from gateway.config import Config, RouteConfig
from tests.gateway.fake_engine import FakeEngine, whole
from tests.gateway.running import CHAT, COMPLETIONS, GENERATE, chat, error_of, native, running, until

LONG = "some prompt of several blocks " * 60
OK = whole(b'{"usage": {"prompt_tokens": 500, "prompt_tokens_details": {"cached_tokens": 0}}}')


async def test_several_models() -> None:
    """A request goes to an engine of its model; without one it is refused where it could be either."""
    one, two = FakeEngine(whole(b'"a"'), model="a"), FakeEngine(whole(b'"b"'), model="b")
    async with one, two, running(one, two) as gateway:
        for _ in range(3):
            assert await gateway.ask(CHAT, chat() | {"model": "a"}) == (200, b'"a"')
            assert await gateway.ask(COMPLETIONS, {"model": "b", "prompt": "x"}) == (200, b'"b"')
        status, body = await gateway.ask(GENERATE, native())
        assert (status, error_of(body)["code"], error_of(body)["param"]) == (400, "missing_field", "/model")
        assert "a, b" in error_of(body)["message"]
        await two.stop()
        await gateway.ready(1)
        status, body = await gateway.ask(CHAT, chat() | {"model": "b"})
        assert (status, error_of(body)["code"]) == (503, "no_engine")
        assert await gateway.ask(CHAT, chat() | {"model": "a"}) == (200, b'"a"')
        async with gateway.http.delete(f"/workers/{gateway.workers[1].id}") as response:
            assert response.status == 200
        status, body = await gateway.ask(CHAT, chat() | {"model": "b"})
        assert (status, error_of(body)["code"]) == (404, "model_not_found")
        assert await gateway.ask(GENERATE, native()) == (200, b'"a"')
        await two.start()


@pytest.mark.parametrize("name", ["base", "adapter", "base:adapter", "base:unlisted"])
async def test_adapters(name: str) -> None:
    """An adapter is asked for by its name or as base:adapter; it shares the base's workers, not its blocks."""
    async with FakeEngine(OK, model="base") as engine:
        engine.pages["/v1/models"] = (200, msgspec.json.encode({"data": [{"id": "base"}, {"id": "adapter"}]}))
        async with running(engine) as gateway:
            await gateway.ask(CHAT, chat(LONG) | {"model": "base"})
            assert (await gateway.ask(CHAT, chat(LONG) | {"model": name}))[0] == 200
            assert msgspec.json.decode(engine.received[-1].body)["model"] == name
            record = await gateway.last_record()
            assert record.model == name
            assert bool(record.expected_cached_tokens) is (name == "base")
            assert [group.name for group in gateway.app.models] == ["base"]


async def test_workers_come_and_go_by_hand() -> None:
    """POST makes a candidate of an engine, drain takes new requests from it, DELETE takes it out; requests finish."""
    options = EngineOptions(speed=20, model="m")
    async with SimulatedEngine(options) as one, SimulatedEngine(options) as two, running(one) as gateway:
        json: dict[str, Any] = {"url": two.url + "/"}
        async with gateway.http.post("/workers", json=json) as response:
            assert (response.status, (await response.json())["state"]) == (202, "unknown")
        await gateway.ready(2)
        first, second = gateway.workers
        assert second.url == two.url
        async with gateway.http.post(f"/workers/{first.id}/drain", json={}) as response:
            assert (await response.json())["state"] == "draining"
        async with gateway.post(CHAT, chat(max_tokens=300, stream=True)) as stream:
            await stream.content.readany()
            assert (len(one.received), second.in_flight) == (0, 1)
            async with gateway.http.delete(f"/workers/{second.id}") as response:
                assert (await response.json())["in_flight"] == 1
            assert gateway.workers == [first]
            assert (await gateway.ask(CHAT, chat()))[0] == 503
            assert (await stream.read()).endswith(b"data: [DONE]\n\n")
        await until(lambda: second.in_flight == 0)
        record = await gateway.last_record()
        assert (record.outcome, record.worker) == ("ok", second.id)
        for _ in range(2):
            async with gateway.http.delete(f"/workers/{second.id}") as response:
                assert (response.status, error_of(await response.read())["code"]) == (404, "worker_not_found")
        async with gateway.http.post("/workers", json=json) as response:
            assert response.status == 202
        await gateway.ready(1)
        assert (await gateway.ask(CHAT, chat(max_tokens=1)))[0] == 200


async def test_a_new_configuration() -> None:
    """Engines that left it leave, new ones come, those added by hand stay; routes and limits count at once."""
    async with FakeEngine(OK) as one, FakeEngine(OK) as two, FakeEngine(OK) as three, running(one) as gateway:
        async with gateway.http.post("/workers", json={"url": three.url}) as response:
            assert response.status == 202
        await gateway.ready(2)
        config = Config(
            engines=(two.url, three.url),
            routes={"new": RouteConfig()},
            poll_interval_s=0.05,
            max_body_bytes=1024,
        )
        gateway.app.reconfigure(config)
        await gateway.ready(2)
        assert sorted(worker.url for worker in gateway.workers) == sorted((two.url, three.url))
        assert (await gateway.ask(CHAT, chat(), x_prefixgate_route="new"))[0] == 200
        assert (await gateway.last_record()).route == "new"
        assert (await gateway.ask(CHAT, chat("x" * 2000)))[0] == 413
        assert one.received == []
