"""gateway.app: what is served beside the proxied paths, and how several gateways live in one process."""

import asyncio

import msgspec
import pytest

from gateway.config import CustomerConfig, RouteConfig
from gateway.identity import new_key
from tests.gateway.fake_engine import FakeEngine, whole
from tests.gateway.running import CHAT, chat, error_of, running, sums


async def test_health_and_readiness() -> None:
    """Alive is not ready: ready counts the engines that take requests."""
    async with FakeEngine(whole(b"{}")) as one, FakeEngine(whole(b"{}")) as two, running(one, two) as gateway:
        async with gateway.http.get("/health") as response:
            assert (response.status, await response.json()) == (200, {"status": "ok"})
        async with gateway.http.get("/ready") as response:
            assert await response.json() == {"status": "ready", "engines_up": 2, "engines": 2}
        for engine in (one, two):
            engine.pages["/health"] = (503, b"")
        await gateway.ready(0)
        async with gateway.http.get("/ready") as response:
            assert (response.status, (await response.json())["engines"]) == (503, 2)


async def test_models_are_listed_as_the_engines_describe_them() -> None:
    """Each once, base models and adapters; one by one as well, names with a slash too."""
    one, two = FakeEngine(model="org/a"), FakeEngine(model="b")
    card = {"id": "org/a", "object": "model", "owned_by": "sglang", "max_model_len": 4096}
    one.pages["/v1/models"] = (200, msgspec.json.encode({"data": [card, {"id": "adapter"}]}))
    async with one, two, running(one, two) as gateway:
        async with gateway.http.get("/v1/models") as response:
            listed = await response.json()
        assert listed["object"] == "list"
        assert sorted(each["id"] for each in listed["data"]) == ["adapter", "b", "org/a"]
        assert card in listed["data"]
        async with gateway.http.get("/v1/models/org/a") as response:
            assert await response.json() == card
        async with gateway.http.get("/v1/models/c") as response:
            assert (response.status, error_of(await response.read())["code"]) == (404, "model_not_found")


async def test_models_are_shown_to_customers_only() -> None:
    """With customers configured the list needs a key like everything else."""
    key, stored = new_key()
    async with FakeEngine() as engine, running(engine, customers={"a": CustomerConfig(keys=(stored,))}) as gateway:
        for given, status in ((None, 401), ("Bearer x", 401), (f"Bearer {key}", 200)):
            headers = {"authorization": given} if given else {}
            async with gateway.http.get("/v1/models", headers=headers) as response:
                assert response.status == status


async def test_a_failure_of_ours_has_the_shape_of_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody foresaw is 500 with a code, no detail of it goes out, and the server's log has it."""
    monkeypatch.setattr("gateway.admin.describe", lambda *_: 1 / 0)
    async with FakeEngine() as engine, running(engine) as gateway, gateway.http.get("/workers") as response:
        body = await response.read()
        assert response.status == 500
        assert error_of(body)["code"] == "internal_error"
        assert b"zero" not in body
        (logged,) = gateway.errors
        assert "ZeroDivisionError" in logged
        gateway.errors.clear()


async def test_two_gateways_in_one_process_share_nothing() -> None:
    """Each has its engines, its counters, its configuration."""
    engine = FakeEngine(whole(b"{}"))
    async with engine, running(engine) as one, running(engine, routes={"r": RouteConfig()}) as two:
        for gateway in (one, one, two):
            await gateway.ask(CHAT, chat(), x_prefixgate_route="r")
        assert sums(await one.metrics(), "prefixgate_requests_total", route="default") == 2
        assert sums(await two.metrics(), "prefixgate_requests_total", route="r") == 1


async def test_an_end_in_mid_request() -> None:
    """An application that ends stops its watchers; nothing of it is left in the loop."""
    before = asyncio.all_tasks()
    async with FakeEngine(whole(b"{}")) as engine, running(engine) as gateway:
        await gateway.ask(CHAT, chat())
    await asyncio.sleep(0.05)
    assert asyncio.all_tasks() == before
