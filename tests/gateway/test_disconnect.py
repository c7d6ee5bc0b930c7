"""gateway.proxy: a client that leaves frees the engine within a second, whenever it leaves (case 52)."""

import asyncio
from typing import Any

import msgspec
import pytest

from engine_adapter.engine import State
from engine_adapter.simulated import SimulatedEngine
from engine_adapter.simulated_options import EngineOptions
from prefix.record import RequestRecord
from tests.cases import case, wire
from tests.gateway.fake_engine import EVENTS_HEAD, Answer, FakeEngine, chunk, raw, whole
from tests.gateway.running import CHAT, GENERATE, Running, chat, native, request_bytes, running, sums, until

WITHIN_S = case(52)["expected"]["upstream_closed_within_ms"] / 1000
COUNTED = case(52)["expected"]["usage_mid_stream"]
USAGE = {
    "prompt_tokens": COUNTED["input_total"],
    "completion_tokens": COUNTED["output"],
    "prompt_tokens_details": {"cached_tokens": COUNTED["cached_read"]},
}
PART = {"choices": [{"index": 0, "delta": {"content": "a"}}], "usage": USAGE}
EVENT = b"data: " + msgspec.json.encode(PART) + b"\n\n"


class Client:
    """A client that can leave at any moment, with a reset or in good order."""

    def __init__(self, gateway: Running) -> None:
        self._gateway = gateway

    async def send(self, request: bytes) -> None:
        """Send these bytes."""
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._gateway.port)
        self._writer.write(request)

    async def read_until(self, end: bytes) -> None:
        """Read up to these bytes."""
        await self._reader.readuntil(end)

    async def leave(self, *, abruptly: bool) -> None:
        """Close the connection."""
        if abruptly:
            self._writer.transport.abort()
        self._writer.close()
        await asyncio.gather(self._writer.wait_closed(), return_exceptions=True)


async def left(gateway: Running) -> RequestRecord:
    """The record of a client that left; nothing of its request is left in the gateway."""
    record = await gateway.last_record()
    assert (record.outcome, record.error_type) == ("client_disconnect", "client_disconnect")
    assert record.status == case(52)["expected"]["http_status_logged"]
    assert gateway.workers[0].state is State.UP
    return record


WINDOWS: dict[str, tuple[Answer, dict[str, Any], bytes]] = {
    "before the first byte": (raw(), chat(stream=True), b""),
    "after the headers": (raw(EVENTS_HEAD), chat(stream=True), b""),
    "mid stream": (raw(EVENTS_HEAD, *[chunk(EVENT)] * 3), chat(stream=True), b"\n\n"),
    "non-stream": (raw(), chat(), b""),
    "mid body": (raw(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"), chat(), b"{"),
}


@pytest.mark.parametrize("abruptly", [True, False])
@pytest.mark.parametrize("window", WINDOWS)
async def test_case_52_a_client_that_leaves_frees_the_engine(window: str, abruptly: bool) -> None:
    """In every window the engine's connection is closed, the slot is free, the worker is not blamed."""
    answer, body, seen = WINDOWS[window]
    async with FakeEngine(answer, whole(b"{}")) as engine, running(engine) as gateway:
        client = Client(gateway)
        await client.send(request_bytes(CHAT, wire(body)))
        await until(lambda: bool(engine.received))
        if seen:
            await client.read_until(seen)
        await client.leave(abruptly=abruptly)
        async with asyncio.timeout(WITHIN_S):
            await engine.received[0].connection.closed.wait()
        record = await left(gateway)
        counted = (record.input_tokens, record.cached_tokens, record.output_tokens)
        assert counted == ((100, 64, 3) if window == "mid stream" else (None, None, None))
        metrics = await gateway.metrics()
        assert sums(metrics, "prefixgate_requests_total", outcome="client_disconnect") == 1
        assert sums(metrics, "prefixgate_worker_active_requests") == 0
        assert await gateway.ask(CHAT, chat()) == (200, b"{}")


@pytest.mark.parametrize("sent", [0, 20])
async def test_a_client_that_leaves_before_its_body_is_complete(sent: int) -> None:
    """No engine hears of it; it is counted all the same."""
    request = request_bytes(CHAT, wire(chat()))
    head = request.index(b"\r\n\r\n") + 4
    async with FakeEngine(whole(b"{}")) as engine, running(engine) as gateway:
        client = Client(gateway)
        await client.send(request[: head + sent])
        await until(lambda: len(asyncio.all_tasks()) > 0)
        await client.leave(abruptly=True)
        await left(gateway)
        assert engine.received == []


async def test_many_clients_leave_at_once_and_a_real_scheduler_is_empty() -> None:
    """A simulated engine has no running or waiting request afterwards, and serves on."""
    async with SimulatedEngine(EngineOptions(speed=1, model="m")) as engine, running(engine) as gateway:
        clients = [Client(gateway) for _ in range(20)]
        for number, client in enumerate(clients):
            stream, text = number % 3 > 0, str(number) * 500
            path, body = (
                (CHAT, chat(text, max_tokens=5000)) if number % 2 else (GENERATE, native(text, max_new_tokens=5000))
            )
            await client.send(request_bytes(path, wire(body | {"stream": stream})))
        await until(lambda: engine.scheduler.load().running + engine.scheduler.load().waiting == 20)
        assert sum(worker.in_flight for worker in gateway.workers) == 20
        for client in clients:
            await client.leave(abruptly=True)
        async with asyncio.timeout(WITHIN_S):
            while engine.scheduler.load()[:2] != (0, 0):
                await asyncio.sleep(0.01)
        assert engine.totals.aborted == 20
        await left(gateway)
        assert {record.outcome for record in gateway.records} == {"client_disconnect"}
        status, _ = await gateway.ask(CHAT, chat(max_tokens=1))
        assert status == 200


async def test_a_client_that_leaves_while_it_does_not_read() -> None:
    """Left with a full buffer in the way: noticed all the same."""

    async def pour(connection: Any) -> None:
        await connection.send(EVENTS_HEAD)
        while True:
            await connection.send(chunk(b"data: " + b"x" * (1 << 16) + b"\n\n"))

    async with FakeEngine(pour, whole(b"{}")) as engine, running(engine) as gateway:
        client = Client(gateway)
        await client.send(request_bytes(CHAT, wire(chat(stream=True))))
        await client.read_until(b"\r\n\r\n")
        await asyncio.sleep(0.2)  # until nothing more fits
        await client.leave(abruptly=True)
        async with asyncio.timeout(WITHIN_S):
            await engine.received[0].connection.closed.wait()
        await left(gateway)


async def test_a_client_that_leaves_between_two_attempts() -> None:
    """The first engine failed, the second is busy: the second is let go too; the first one's slot was free."""
    first, second = FakeEngine(), FakeEngine()
    first.answers = second.answers = [whole(b"busy", 503), raw()]
    async with first, second, running(first, second) as gateway:
        client = Client(gateway)
        await client.send(request_bytes(CHAT, wire(chat())))
        await until(lambda: len(first.received) + len(second.received) == 2)
        assert sorted(worker.in_flight for worker in gateway.workers) == [0, 1]
        await client.leave(abruptly=True)
        assert (await left(gateway)).retries == 1
