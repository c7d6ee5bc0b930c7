"""A gateway with one scripted engine in a thread of its own, for targets that talk to it from outside its loop."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.gateway.fake_engine import FakeEngine, whole
from tests.gateway.running import running

ADMIN_TOKEN = "fuzz"
_ANSWER = b'{"id":"1","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}]}'
_WITHIN_S = 30.0


@dataclass(frozen=True, slots=True)
class Target:
    """url: the gateway's, without a slash at the end. engine: what it received is in `engine.received`."""

    url: str
    port: int
    engine: FakeEngine


@contextmanager
def target() -> Iterator[Target]:
    """The gateway, up; it must end without a request left anywhere in it."""
    started, ended = threading.Event(), threading.Event()
    made: list[Target] = []
    failed: list[BaseException] = []

    async def serve() -> None:
        async with FakeEngine(whole(_ANSWER)) as engine, running(engine, admin_token=ADMIN_TOKEN) as gateway:
            made.append(Target(gateway.url, gateway.port, engine))
            started.set()
            await asyncio.to_thread(ended.wait)

    def run() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:
            failed.append(error)
            started.set()

    thread = threading.Thread(target=run)
    thread.start()
    started.wait(_WITHIN_S)
    try:
        if made:
            yield made[0]
    finally:
        ended.set()
        thread.join(_WITHIN_S)
        if failed:
            raise failed[0]
