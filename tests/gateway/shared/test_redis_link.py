"""gateway.shared.redis_link: gateways that share over a real redis-server, and go on without it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from engine_adapter.engine_request import EngineConfig
from engine_adapter.simulated import SimulatedEngine
from engine_adapter.simulated_options import EngineOptions
from gateway.shared.messages import Hello, encode
from gateway.shared.redis_link import check_redis
from prefix.errors import ConfigError
from tests.gateway.operators import RULES, asks
from tests.gateway.running import CHAT, Running, running, until
from tests.gateway.shared.redis_server import fleet, met, redis_at, redis_server

pytestmark = pytest.mark.slow
KEY = "prefixgate:{default}:events"


@asynccontextmanager
async def engines(count: int) -> AsyncIterator[list[SimulatedEngine]]:
    """Simulated engines."""
    made = [SimulatedEngine(EngineOptions(speed=1e6, config=EngineConfig(page_tokens=16))) for _ in range(count)]
    for engine in made:
        await engine.start()
    try:
        yield made
    finally:
        for engine in made:
            await engine.stop()


async def served_by(gateway: Running, body: dict[str, Any]) -> str | None:
    """The worker that answered a request."""
    async with gateway.post(CHAT, body) as response:
        assert response.status == 200, await response.text()
        await response.read()
        worker: str | None = response.headers.get("x-prefixgate-worker")
    return worker


def held(gateway: Running) -> int:
    """Blocks the gateway believes in."""
    return sum(sum(group.router.holdings().values()) for group in gateway.app.models)


def shared(gateway: Running) -> dict[str, Any]:
    """The `redis` section."""
    return gateway.app.shared()


async def test_what_one_gateway_placed_the_others_know() -> None:
    """The same prompt goes to the same worker from every gateway; who starts later learns it; nothing stays open."""
    async with redis_server() as server, engines(3) as workers, fleet(server, 2, *workers) as (one, two):
        first = await served_by(one, asks(RULES))
        await until(lambda: held(two) > 0 and not shared(two)["replicas"][0]["open_requests"])
        assert {await served_by(two, asks(RULES, f"And {n}?")) for n in range(3)} == {first}
        async with running(*workers, redis=redis_at(server.url)) as late:
            await until(lambda: held(late) > 0)
            assert await served_by(late, asks(RULES, "Late?")) == first
        await until(lambda: shared(one)["applied"] > 0)
        assert shared(one)["unreadable"] == shared(one)["unknown_version"] == 0
        page = await one.metrics()
        assert page['prefixgate_shared_connected{fleet="default"}'] == 1
        assert page['prefixgate_shared_messages_total{outcome="sent"}'] > 0


async def test_membership_is_shared() -> None:
    """A worker added, drained, removed at one gateway is so at the others, and at one that starts later."""
    async with redis_server() as server, engines(2) as (first, second), fleet(server, 2) as (one, two):
        for engine in (first, second):
            async with one.post("/workers", {"url": engine.url}) as response:
                assert response.status == 202
        await until(lambda: len(two.workers) == 2)
        await two.ready(2)
        name = two.workers[1].id
        async with two.post(f"/workers/{name}/drain", {}) as response:
            assert response.status == 200
        await until(lambda: one.workers[1].drained)
        async with running(redis=redis_at(server.url), wait=False) as late:
            await until(lambda: len(late.workers) == 2 and [w.drained for w in late.workers] == [False, True])
            async with late.http.delete(f"/workers/{name}") as response:
                assert response.status == 200
            await until(lambda: len(one.workers) == len(two.workers) == 1)


async def test_redis_killed_and_started_again() -> None:
    """No request fails; the gateways say so, go on alone, and converge when it is back."""
    async with redis_server() as server, engines(2) as workers, fleet(server, 2, *workers) as (one, two):
        await served_by(one, asks(RULES))
        await server.kill()
        await until(lambda: shared(one)["state"] == shared(two)["state"] == "away")
        answered = await served_by(one, asks("Other rules. " * 200))
        assert "cannot be reached" in shared(one)["why"]
        before = held(two)
        await server.start()
        await until(lambda: met(one, 1) and met(two, 1))
        await until(lambda: held(two) > before)
        assert await served_by(two, asks("Other rules. " * 200, "Again?")) == answered


@pytest.mark.parametrize(
    ("options", "prepare", "why"),
    [
        (("--requirepass", "secret-word"), (), "refuses the password"),
        ((), ("SET", KEY, "mine"), "holds something that is not ours"),
        ((), ("CONFIG", "SET", "maxmemory", "1"), "is full"),
        ((), ("REPLICAOF", "127.0.0.1", "1"), "read-only replica"),
    ],
)
async def test_a_redis_that_cannot_be_used(options: tuple[str, ...], prepare: tuple[str, ...], why: str) -> None:
    """The gateway serves, says why it is alone, and `--check` says so too; never the password."""
    async with redis_server(*options) as server, engines(1) as workers:
        if prepare:
            await server.command(*prepare)
        url = server.url.replace("redis://", "redis://:wrong-word@") if options else server.url
        async with running(*workers, redis=redis_at(url)) as gateway:
            await until(lambda: shared(gateway)["state"] == "away")
            await served_by(gateway, asks(RULES))
            assert why in shared(gateway)["why"]
            assert "word@" not in str(shared(gateway))


async def test_the_check_of_the_command_line() -> None:
    """A Redis that can be used passes; a wrong password and nobody listening are errors in one line."""
    async with redis_server("--requirepass", "right") as server:
        await check_redis(redis_at(server.url), "right")
        with pytest.raises(ConfigError, match="refuses the password"):
            await check_redis(redis_at(server.url), "wrong")
    with pytest.raises(ConfigError, match="cannot be reached"):
        await check_redis(redis_at(server.url), None)


async def test_a_slow_redis_slows_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """While Redis does not answer, requests do not wait for it."""
    monkeypatch.setattr("gateway.shared.redis_link._ANSWER_S", 1.0)
    async with redis_server() as server, engines(1) as workers, fleet(server, 2, *workers) as (one, two):
        await server.command("CLIENT", "PAUSE", "2000", "ALL")
        async with asyncio.timeout(1.5):
            for number in range(5):
                await served_by(one, asks(RULES, str(number)))
        await until(lambda: shared(one)["state"] == "away")
        await until(lambda: met(one, 1) and met(two, 1) and held(two) > 0)


async def test_foreign_and_newer_entries(caplog: pytest.LogCaptureFixture) -> None:
    """Entries that are not ours, and batches of another version, are counted and told once; ours still arrive."""
    async with redis_server() as server, engines(1) as workers, fleet(server, 2, *workers) as (one, two):
        for number in range(3):
            newer = encode([99, "newer", number, 0.0, "another form"])
            await server.command("XADD", KEY, "*", "b", newer)
            await server.command("XADD", KEY, "*", "other", "field")
            unheard = encode([1, "kinds", number + 1, 0.0, [["unheard-of", 1], Hello("x", "1", False)]])
            await server.command("XADD", KEY, "*", "b", unheard)
        await served_by(one, asks(RULES))
        await until(lambda: held(two) > 0)
        assert (shared(two)["unknown_version"], shared(two)["unreadable"]) == (3, 6)
        assert len([r for r in caplog.records if "replica newer" in r.getMessage()]) == 2  # each gateway once
