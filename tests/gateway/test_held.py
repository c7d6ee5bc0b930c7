"""gateway.held: all request bodies together stay within a bound, and what ends gives its bytes back."""

import asyncio

import pytest

from gateway.errors import Refusal
from gateway.held import Bodies, Held
from tests.gateway.fake_engine import END, EVENTS_HEAD, Connection, FakeEngine, chunk
from tests.gateway.running import CHAT, chat, error_of, running, until


def test_a_bound_over_all() -> None:
    """What one gives back another may take; who is refused holds what it had until it ends."""
    bodies = Bodies()
    bodies.most = 100
    with Held(bodies) as one, Held(bodies) as two:
        one.take(60)
        two.take(30)
        with pytest.raises(Refusal) as caught:
            two.take(20)
        assert (caught.value.code, bodies.held) == ("overloaded", 90)
    assert bodies.held == 0


async def test_too_many_large_requests_at_once() -> None:
    """The one too many is told to try again; afterwards there is room again."""
    go = asyncio.Event()

    async def answer(connection: Connection) -> None:
        await go.wait()
        await connection.send(EVENTS_HEAD + chunk(b"data: [DONE]\n\n") + END)

    body = chat("x" * 400_000, stream=True)
    async with FakeEngine(answer) as engine, running(engine, max_held_bytes=1_000_000) as gateway:
        two = [asyncio.ensure_future(gateway.ask(CHAT, body)) for _ in range(2)]
        await until(lambda: len(engine.received) == 2)
        status, refusal = await gateway.ask(CHAT, body)
        assert (status, error_of(refusal)["code"]) == (503, "overloaded")
        assert (await gateway.ask(CHAT, b"{}"))[0] == 400
        go.set()
        assert [(await each)[0] for each in two] == [200, 200]
        assert (await gateway.ask(CHAT, body))[0] == 200
        await until(gateway.settled)
        assert gateway.app.proxy._bodies.held == 0
