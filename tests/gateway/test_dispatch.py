"""gateway.dispatch: a full fleet makes requests wait, in fair turns, not for ever, and never over the limit."""

import asyncio
from collections.abc import AsyncIterator
from collections.abc import Set as AbstractSet
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import msgspec
import pytest

from engine_adapter.engine import State
from gateway.dispatch import Place
from gateway.prepared import Prepared
from tests.gateway.fake_engine import Connection, FakeEngine, whole_bytes
from tests.gateway.running import CHAT, Running, chat, error_of, running, sums, until

CALM = {"poll_interval_s": 60.0}


class Gate:
    """Engines that answer when they are told to."""

    def __init__(self) -> None:
        self.waiting: list[Connection] = []
        self.served: list[str] = []
        self.most = 0

    async def answer(self, connection: Connection) -> None:
        """Take a request and wait."""
        self.waiting.append(connection)
        self.most = max(self.most, len(self.waiting))

    async def let(self, count: int) -> None:
        """Answer so many of the requests, first come first served."""
        for _ in range(count):
            await until(lambda: bool(self.waiting))
            await self.waiting.pop(0).send(whole_bytes(b"{}"))


@asynccontextmanager
async def gated(count: int = 1, **settings: Any) -> AsyncIterator[tuple[Running, Gate, list[FakeEngine]]]:
    """A gateway in front of engines that wait, one request each."""
    gate = Gate()
    engines = [FakeEngine(gate.answer) for _ in range(count)]
    async with AsyncExitStack() as stack:
        for engine in engines:
            await stack.enter_async_context(engine)
        yield (
            await stack.enter_async_context(running(*engines, **CALM | {"max_in_flight": 1} | settings)),
            gate,
            engines,
        )


def ask(gateway: Running, customer: str = "a") -> "asyncio.Future[tuple[int, bytes]]":
    """A request that is under way."""
    body = chat(max_tokens=1024)  # a turn each
    return asyncio.ensure_future(gateway.ask(CHAT, body, x_prefixgate_customer=customer))


def queued(gateway: Running) -> int:
    """Requests waiting."""
    return sum(gateway.app.proxy.dispatch.queued.values())


async def refused(answer: "asyncio.Future[tuple[int, bytes]]") -> str:
    """The code of a refusal."""
    status, body = await answer
    assert status == 503
    return str(error_of(body)["code"])


async def test_without_a_queue_a_full_fleet_refuses_at_once() -> None:
    """503 with Retry-After; a place that comes free is given to the next."""
    async with gated(2) as (gateway, gate, _):
        first, second = ask(gateway), ask(gateway)
        await until(lambda: len(gate.waiting) == 2)
        async with gateway.post(CHAT, chat()) as response:
            assert (response.status, error_of(await response.read())["code"]) == (503, "overloaded")
            assert response.headers["retry-after"] == "2"
        await gate.let(1)
        third = ask(gateway)
        await gate.let(2)
        assert [(await each)[0] for each in (first, second, third)] == [200] * 3


async def test_a_queue_is_served_in_order_and_counted() -> None:
    """One at a time per worker, all of them in the end; how long they waited is measured."""
    async with gated(2, queue_size=10) as (gateway, gate, _):
        answers = [ask(gateway) for _ in range(6)]
        await until(lambda: queued(gateway) == 4)
        metrics = await gateway.metrics()
        assert sums(metrics, "prefixgate_queue_requests", gen_ai_request_model="m") == 4
        await gate.let(6)
        assert [(await each)[0] for each in answers] == [200] * 6
        assert gate.most == 2
        await until(lambda: len(gateway.records) == 6)
        assert sum(record.queued_s > 0 for record in gateway.records) == 4
        assert all(record.overhead_s < record.duration_s for record in gateway.records)
        assert sums(await gateway.metrics(), "prefixgate_queue_duration_seconds_count") == 4


async def test_customers_share_a_saturated_fleet() -> None:
    """One with ten requests waiting does not delay the other's two beyond their turn."""
    async with gated(1, queue_size=20) as (gateway, gate, engines):
        first = ask(gateway)
        await until(lambda: len(gate.waiting) == 1)
        many = [ask(gateway, "greedy") for _ in range(10)]
        await until(lambda: queued(gateway) == 10)
        few = [ask(gateway, "modest") for _ in range(2)]
        await until(lambda: queued(gateway) == 12)
        await gate.let(6)
        assert [(await each)[0] for each in few] == [200, 200]
        assert sum(each.done() for each in many) <= 4
        await gate.let(7)
        await asyncio.gather(first, *many)
        assert len(engines[0].received) == 13


async def test_a_full_queue_refuses_at_once() -> None:
    """Who has the longest line is refused; another customer gets a place instead of its newest."""
    async with gated(1, queue_size=2) as (gateway, gate, _):
        answers = [ask(gateway)]
        for size in range(2):
            await until(lambda n=size: len(gate.waiting) == 1 and queued(gateway) == n)
            answers.append(ask(gateway))
        await until(lambda: queued(gateway) == 2)
        assert await refused(ask(gateway)) == "overloaded"
        other = ask(gateway, "b")
        assert await refused(answers.pop()) == "overloaded"
        await gate.let(3)
        assert [(await each)[0] for each in (*answers, other)] == [200] * 3


async def test_waiting_has_an_end() -> None:
    """After queue_timeout_s the client is told to try again; no place is lost."""
    async with gated(1, queue_size=5, queue_timeout_s=0.1) as (gateway, gate, _):
        first = ask(gateway)
        await until(lambda: len(gate.waiting) == 1)
        assert await refused(ask(gateway)) == "overloaded"
        await gate.let(1)
        await first
        second = ask(gateway)
        await gate.let(1)
        assert (await second)[0] == 200


async def test_a_queue_outlasts_a_restart() -> None:
    """With a queue, requests wait while no engine is up, and are served when one is."""
    async with gated(1, queue_size=5, poll_interval_s=0.02) as (gateway, gate, engines):
        await engines[0].stop()
        await until(lambda: gateway.workers[0].state is State.DOWN)
        answers = [ask(gateway) for _ in range(2)]
        await until(lambda: queued(gateway) == 2)
        await engines[0].start()
        await gate.let(2)
        assert [(await each)[0] for each in answers] == [200, 200]


async def test_who_needs_another_worker_does_not_wait_for_those_in_front(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that only a busy worker can take leaves the idle one to the next customer."""
    async with gated(2, queue_size=5) as (gateway, gate, _):
        first = ask(gateway)
        await until(lambda: len(gate.waiting) == 1)
        busy = next(worker.id for worker in gateway.workers if worker.in_flight)
        dispatch = gateway.app.proxy.dispatch
        everybody = dispatch.candidates

        def candidates(prepared: Prepared, tried: AbstractSet[str] = frozenset()) -> AbstractSet[str]:
            found = everybody(prepared, tried)
            return found & {busy} if prepared.identity.customer == "bound" else found

        monkeypatch.setattr(dispatch, "candidates", candidates)
        bound = ask(gateway, "bound")
        await until(lambda: queued(gateway) == 1)
        free = ask(gateway, "free")
        await until(lambda: len(gate.waiting) == 2)
        await gate.let(3)
        assert [(await each)[0] for each in (first, bound, free)] == [200] * 3


async def test_shutting_down_empties_the_queue() -> None:
    """Who waits is told so at once, so is who comes; who is being served is served."""
    async with gated(1, queue_size=5) as (gateway, gate, _):
        first, second = ask(gateway), ask(gateway)
        await until(lambda: queued(gateway) == 1)
        gateway.app.proxy.drain()
        waiting = second if first in (await asyncio.wait([first, second], timeout=0.5))[1] else first
        assert await refused(waiting) == "shutting_down"
        assert await refused(ask(gateway)) == "shutting_down"
        async with gateway.http.get("/ready") as response:
            assert response.status == 503
        await gate.let(1)
        assert sorted([(await first)[0], (await second)[0]]) == [200, 503]


async def test_a_reload_changes_the_limits() -> None:
    """A higher limit lets those who wait through."""
    async with gated(1, queue_size=5) as (gateway, gate, _):
        answers = [ask(gateway) for _ in range(3)]
        await until(lambda: queued(gateway) == 2)
        gateway.app.reconfigure(msgspec.structs.replace(gateway.app.config, max_in_flight=None))
        await until(lambda: len(gate.waiting) == 3)
        await gate.let(3)
        assert [(await each)[0] for each in answers] == [200] * 3


async def test_giving_up_in_the_moment_a_place_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A place handed to a request that is cancelled, or too late, in the same moment is given back."""
    async with gated(1, queue_size=5) as (gateway, gate, _):
        dispatch, (worker,) = gateway.app.proxy.dispatch, gateway.workers
        asked: list[Prepared] = []
        place = dispatch.place

        async def placing(prepared: Prepared, tried: AbstractSet[str]) -> Place:
            asked.append(prepared)
            return await place(prepared, tried)

        monkeypatch.setattr(dispatch, "place", placing)
        first = ask(gateway)
        await gate.let(1)
        await first
        await until(gateway.settled)
        taken = await place(asked[0], frozenset())
        waiting = asyncio.ensure_future(place(asked[0], frozenset()))
        await until(lambda: queued(gateway) == 1)
        dispatch.release(taken, "ok")
        assert worker.in_flight == 1
        waiting.cancel()
        await asyncio.wait([waiting])
        assert (waiting.cancelled(), worker.in_flight, queued(gateway)) == (True, 0, 0)
        taken = await place(asked[0], frozenset())
        waiting = asyncio.ensure_future(place(asked[0], frozenset()))
        await until(lambda: queued(gateway) == 1)
        waiting.cancel()
        gateway.app.proxy.drain()
        await asyncio.wait([waiting])
        assert waiting.cancelled()
        dispatch.release(taken, "ok")
