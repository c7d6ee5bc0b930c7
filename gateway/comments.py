"""Keep-alive comments in a stream whose first byte takes long, for proxies that cut silent connections (opt-in).

The head has to leave before the engine has said anything, so it is 200 and has only the headers that are known by
then; whatever goes wrong afterwards is told by an event. Other workers may still be tried: a comment is no byte of
an answer (WHATWG HTML 9.2.6: a line that begins with a colon is ignored).
"""

import asyncio
from types import TracebackType
from typing import Self

from gateway.exchange import Exchange
from gateway.incoming import Send
from gateway.reply import early_start

COMMENT = b": keep-alive\n\n"


class Comments:
    """Sends one every `every_s` seconds while it is entered and not stopped; None: never."""

    __slots__ = ("_every_s", "_exchange", "_send", "_task")

    def __init__(self, exchange: Exchange, send: Send, every_s: float | None) -> None:
        self._exchange = exchange
        self._send = send
        self._every_s = every_s
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        if self._every_s is not None:
            self._task = asyncio.get_running_loop().create_task(self._comment(self._every_s))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.stop()

    async def stop(self) -> None:
        """No more of them; nothing is being sent when this returns."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def _comment(self, every_s: float) -> None:
        while True:
            await asyncio.sleep(every_s)
            if not self._exchange.status:
                await self._send(early_start(self._exchange))
                self._exchange.status = 200
            await self._send({"type": "http.response.body", "body": COMMENT, "more_body": True})
