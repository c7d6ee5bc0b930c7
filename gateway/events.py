"""What happens now, pushed to dashboards that listen: server-sent events, one tick every two seconds.

A listener costs a task and no queue: a tick is made when it is due and sent when the client takes it, so one that
reads slowly gets fewer ticks, not a longer buffer. All ticks of one moment are one piece of bytes. A stream ends when
its client leaves, and at once when the gateway shuts down, so that an open dashboard does not keep it from stopping.
(https://html.spec.whatwg.org/multipage/server-sent-events.html)
"""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gateway.errors import Refusal

EVERY_S: Final = 2.0
LISTENERS: Final = 32
_FAREWELL_S: Final = 0.2
_HEADERS: Final = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # nginx would keep ticks back
]


class Events:
    """The streams. tick: makes the data of one, as JSON; now: seconds, monotonic."""

    def __init__(self, tick: Callable[[], bytes], now: Callable[[], float], every_s: float = EVERY_S) -> None:
        self.every_s = every_s
        self.listening = 0
        self._make, self._now = tick, now
        self._made, self._made_at = b"", float("-inf")
        self._closed = asyncio.Event()

    def close(self) -> None:
        """End all streams, and begin none."""
        self._closed.set()

    async def stream(self, receive: Receive, send: Send) -> None:
        """Serve one listener. Raises Refusal `overloaded` when there are too many, `shutting_down` after `close`."""
        if self._closed.is_set():
            raise Refusal("shutting_down")
        if self.listening >= LISTENERS:
            raise Refusal("overloaded", f"{LISTENERS} dashboards are listening already")
        self.listening += 1
        try:
            await _first(self._ticks(send), _left(receive), self._closed.wait())
        finally:
            self.listening -= 1
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FAREWELL_S):  # the client may not be reading
                await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _ticks(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        while True:
            await send({"type": "http.response.body", "body": self._tick(), "more_body": True})
            await asyncio.sleep(self.every_s)

    def _tick(self) -> bytes:
        """The event of this moment: for all who ask within half a period it is the same."""
        now = self._now()
        if now - self._made_at >= self.every_s / 2:
            self._made, self._made_at = b"event: tick\ndata: " + self._make() + b"\n\n", now
        return self._made


class EventStream(Response):
    """A listener's stream as a response."""

    media_type = "text/event-stream"

    def __init__(self, events: Events) -> None:
        super().__init__()
        self._events = events

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        """Serve it until somebody leaves."""
        await self._events.stream(receive, send)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _first(*coroutines: Coroutine[object, object, object]) -> None:
    """Wait until one of these ends; the others end with it."""
    tasks = [asyncio.ensure_future(each) for each in coroutines]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
