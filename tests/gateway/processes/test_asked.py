"""gateway.processes.asked: an operator's request in one process, its answer in another, as if they were one."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gateway.errors import Refusal
from gateway.processes.asked import answer, ask
from tests.gateway.running import SOON_S, until

SCOPE: dict[str, Any] = {
    "type": "http",
    "method": "POST",
    "scheme": "http",
    "path": "/workers",
    "raw_path": b"/workers",
    "query_string": b"a=1",
    "http_version": "1.1",
    "headers": [(b"host", b"localhost"), (b"x-forwarded-for", b"\xe9"), (b"host", b"twice")],
    "client": ("10.1.2.3", 4711),
    "server": ("127.0.0.1", 8080),
}


@asynccontextmanager
async def handed_to(app: Any) -> AsyncIterator[Callable[[socket.socket], None]]:
    """What hands a pipe to an application; its faults are the test's."""
    tasks: list[asyncio.Task[None]] = []
    yield lambda end: tasks.append(asyncio.create_task(answer(app, end.dup())))
    async with asyncio.timeout(SOON_S):
        await asyncio.gather(*tasks)


async def asked(app: Any, *pieces: tuple[bytes, bool], gone: bool = False) -> list[dict[str, Any]]:
    """What a client gets that sends these pieces of a body, and leaves then if it is `gone`."""
    waiting, said = list(pieces), []

    async def receive() -> dict[str, Any]:
        if waiting:
            data, more = waiting.pop(0)
            return {"type": "http.request", "body": data, "more_body": more}
        if not gone:
            await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        said.append(message)

    async with asyncio.timeout(SOON_S), handed_to(app) as hand_over:
        await ask(hand_over, SCOPE, receive, send)
    return said


async def test_head_body_and_answer_arrive_as_they_were() -> None:
    """The client's address and every header are the true ones; pieces and a large answer keep their bytes."""
    seen: dict[str, Any] = {}

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.update(scope)
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message["body"], message["more_body"]
        await send({"type": "http.response.start", "status": 202, "headers": [(b"a", b"b")]})
        await send({"type": "http.response.body", "body": body * 50_000, "more_body": True})
        await send({"type": "http.response.body"})

    start, *bodies = await asked(app, (b"one", True), (b"two", False))
    assert {name: seen[name] for name in SCOPE} == SCOPE
    assert start == {"type": "http.response.start", "status": 202, "headers": [(b"a", b"b")]}
    assert b"".join(each["body"] for each in bodies) == b"onetwo" * 50_000
    assert [each["more_body"] for each in bodies][-2:] == [True, False]


async def test_a_client_that_leaves_is_noticed() -> None:
    """An endless stream ends in the parent when its client leaves."""
    ended = asyncio.Event()

    async def app(_: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while (await receive())["type"] != "http.disconnect":
            pass
        ended.set()

    await asked(app, (b"", False), gone=True)
    await until(ended.is_set)


async def test_one_that_fails_is_answered() -> None:
    """An application that answers nothing, and a parent that takes nothing now, are refusals, not silence."""

    async def app(*_: Any) -> None:
        """Nothing."""

    with pytest.raises(Refusal, match="its log says why"):
        await asked(app, (b"", False))

    async def nothing(*_: Any) -> Any:
        raise AssertionError("nothing is read or sent")

    def busy(_: socket.socket) -> None:
        raise BlockingIOError

    with pytest.raises(Refusal) as refused:
        await ask(busy, SCOPE, nothing, nothing)
    assert refused.value.code == "overloaded"


async def test_what_the_parent_leaves_unread_takes_nothing_from_the_answer() -> None:
    """An application that answers without reading the body is heard to its end."""

    async def app(_: Any, __: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 413, "headers": []})
        await send({"type": "http.response.body", "body": b"too long" * 50_000})

    for _ in range(20):
        _, *bodies = await asked(app, *[(b"x" * 4096, True)] * 20, (b"", False))
        assert b"".join(each["body"] for each in bodies) == b"too long" * 50_000
