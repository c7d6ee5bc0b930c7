"""gateway.events: dashboards that listen are told what happens, are few, and hold nothing up."""

import asyncio
import itertools
from typing import Any

import aiohttp
import msgspec
import pytest

from gateway.errors import Refusal
from gateway.events import LISTENERS, Events
from tests.gateway.operators import RULES, asks, got, one_engine
from tests.gateway.running import CHAT, Running, until


def fast(gateway: Running) -> Events:
    """The gateway's streams, with a tick every few milliseconds."""
    gateway.app.events.every_s = 0.02
    return gateway.app.events


async def tick(response: aiohttp.ClientResponse) -> Any:
    """The data of the next event."""
    assert await response.content.readline() == b"event: tick\n"
    line = await response.content.readline()
    assert await response.content.readline() == b"\n"
    return msgspec.json.decode(line.removeprefix(b"data: "))


async def test_a_listener_is_told_what_the_tables_say() -> None:
    """Each tick has the overview and the running step; a request shows in the next one."""
    async with one_engine() as gateway:
        events = fast(gateway)
        async with gateway.http.get("/api/events") as response:
            assert response.content_type == "text/event-stream"
            first = await tick(response)
            assert (await gateway.ask(CHAT, asks(RULES)))[0] == 200
            while (last := await tick(response))["overview"]["totals"]["requests"] == 0:
                pass
            overview = await got(gateway, "/api/overview")
        await until(lambda: not events.listening)
    assert first["overview"]["totals"]["requests"] == 0
    assert last["overview"]["totals"] == overview["totals"]
    assert last["point"].keys() == first["point"].keys() >= {"at", "requests", "uncached_by_reason"}


async def test_streams_end_when_the_gateway_drains() -> None:
    """At once and cleanly, and none begins; so an open dashboard does not keep the gateway from stopping."""
    async with one_engine() as gateway:
        async with gateway.http.get("/api/events") as response:
            await tick(response)
            gateway.app.drain()
            async with asyncio.timeout(1.0):  # far less than the two seconds to the next tick
                assert await response.content.read() == b""
        error = (await got(gateway, "/api/events", 503))["error"]
    assert error["code"] == "shutting_down"


async def test_listeners_are_few_and_give_their_place_back() -> None:
    """The 33rd is refused; when one leaves there is room again."""
    async with one_engine() as gateway:
        events = fast(gateway)
        listeners = [await gateway.http.get("/api/events") for _ in range(LISTENERS)]
        error = (await got(gateway, "/api/events", 503))["error"]
        listeners[0].close()
        await until(lambda: events.listening < LISTENERS)
        async with gateway.http.get("/api/events") as another:
            assert another.status == 200
        for listener in listeners:
            listener.close()
        await until(lambda: not events.listening)
    assert error["code"] == "overloaded"


async def test_a_listener_that_does_not_read_misses_ticks() -> None:
    """Nothing is made for it while its last tick is not taken, and it does not hold the end up."""
    made = itertools.count()
    events = Events(lambda: b"%d" % next(made), asyncio.get_running_loop().time, every_s=0.001)
    stuck, taken = asyncio.Event(), []

    async def send(message: Any) -> None:
        taken.append(message)
        if len(taken) == 3:
            await stuck.wait()

    async def receive() -> Any:
        await stuck.wait()

    listener = asyncio.create_task(events.stream(receive, send))
    await until(lambda: len(taken) == 3)
    await asyncio.sleep(0.05)
    assert len(taken) == 3
    assert next(made) == 2
    events.close()
    async with asyncio.timeout(1.0):
        await listener
    assert events.listening == 0


async def test_all_listeners_of_a_moment_get_the_same_bytes() -> None:
    """A tick is made once, however many listen."""
    made = itertools.count()
    events = Events(lambda: b"%d" % next(made), lambda: 100.0)
    assert events._tick() is events._tick()
    events.close()
    with pytest.raises(Refusal, match="shutting down"):
        await events.stream(asyncio.Event().wait, print)
