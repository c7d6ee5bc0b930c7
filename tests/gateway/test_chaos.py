"""Everything that can go wrong, at once: engines that fail in every way and restart, clients that leave anywhere.

Nobody waits for ever, every request has one record, and nothing is left behind.
"""

import asyncio
import random
from contextlib import AsyncExitStack
from typing import Any

import msgspec
import pytest

from tests.gateway.fake_engine import END, EVENTS_HEAD, Connection, FakeEngine, Request, chunk, raw, whole
from tests.gateway.running import CHAT, SOON_S, Running, chat, request_bytes, running, until
from tests.gateway.test_fault_matrix import DONE, ENGINE, EVENT, OK, Cell, descriptors, seen

SETTINGS: dict[str, Any] = {
    "poll_interval_s": 0.05,
    **dict.fromkeys(("first_byte_timeout_s", "read_timeout_s", "body_timeout_s", "queue_timeout_s"), 0.3),
    "total_timeout_s": 0.6,
    "max_in_flight": 4,
    "queue_size": 10,
    "sse_keepalive_s": 0.05,
    "breaker_failures": 3,
    "breaker_open_s": 0.1,
    "pool_idle_s": 0.2,
}


class Wild(FakeEngine):
    """An engine that answers six in ten requests well and the others in any way there is."""

    def __init__(self, lot: random.Random) -> None:
        super().__init__(self.any_way)
        self._lot = lot
        self._streams: dict[Connection, bool] = {}

    async def respond(self, request: Request) -> None:
        self._streams[request.connection] = b'"stream":true' in request.body
        await super().respond(request)

    async def any_way(self, connection: Connection) -> None:
        """One answer."""
        stream = self._streams[connection]
        if self._lot.random() < 0.6:
            await asyncio.sleep(self._lot.random() * 0.02)
            await (raw(EVENTS_HEAD, chunk(EVENT + DONE), END) if stream else whole(OK))(connection)
            return
        fault = ENGINE[self._lot.choice(list(ENGINE))]
        await (fault.stream if stream else fault.whole)(connection)


async def client(gateway: Running, lot: random.Random, number: int) -> None:
    """One request; three in ten leave at some moment, one of them before its body is complete."""
    body = msgspec.json.encode(chat(str(number) * 200, stream=lot.random() < 0.5))
    request = request_bytes(CHAT, body, "connection: close", f"x-prefixgate-customer: c{number % 3}")
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    kind = lot.random()
    writer.write(request[:-5] if kind < 0.1 else request)
    if kind < 0.3:
        await asyncio.sleep(lot.random() * 0.1)
        writer.transport.abort()
    else:
        async with asyncio.timeout(SOON_S):
            assert seen(await reader.read()).status in (200, 400, 429, 500, 502, 503, 504)
    writer.close()
    await asyncio.gather(writer.wait_closed(), return_exceptions=True)


async def restarts(engines: list[Wild], lot: random.Random) -> None:
    """Now and then an engine is gone for a moment."""
    while True:
        await asyncio.sleep(0.5)
        engine = lot.choice(engines)
        await engine.stop()
        await asyncio.sleep(0.1)
        await engine.start()


@pytest.mark.parametrize("requests", [100, pytest.param(1500, marks=pytest.mark.slow)])
async def test_everything_at_once(requests: int) -> None:
    """Three engines, fifty clients at a time."""
    lot = random.Random(requests)
    tasks, files = asyncio.all_tasks(), descriptors()
    engines = [Wild(lot) for _ in range(3)]
    async with AsyncExitStack() as stack:
        for engine in engines:
            await stack.enter_async_context(engine)
        gateway = await stack.enter_async_context(running(*engines, **SETTINGS))
        flapping = asyncio.ensure_future(restarts(engines, lot))
        for start in range(0, requests, 50):
            await asyncio.gather(*(client(gateway, lot, start + number) for number in range(50)))
        flapping.cancel()
        await asyncio.wait([flapping])
        await Cell(gateway, engines[0]).nothing_left()
        assert len(gateway.records) == requests
        assert len({record.request_id for record in gateway.records}) == requests
        assert {record.outcome for record in gateway.records} >= {"ok", "error", "client_disconnect"}
        assert not [complaint for complaint in gateway.errors if "Traceback" in complaint]
    await until(lambda: asyncio.all_tasks() <= tasks and descriptors() <= files)
