"""The sockets of one stream of KV events: what arrives goes to its KvStream, what that asks for goes out.

Never on the request path: three small tasks, of which the one that reads lets others run after every few messages.
ZMQ connects again by itself; its heartbeats notice within 1.5 s when nobody answers any more. In a silence the stream
asks each second whether it has missed something.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

import zmq
import zmq.asyncio
from zmq.utils.monitor import recv_monitor_message

from engine_adapter.kv_stream import KvStream
from gateway.exact import Exact

_log = logging.getLogger("prefixgate")
_AT_ONCE = 8
"""Messages until other tasks get a turn: 6 ms when each stores 8,192 tokens in pages of 16."""
_CHECK_S = 1.0
_REPLAY_S = 3.0
_QUIET_S = 10.0
"""At most one log line in this time about one stream."""
_MOST_WAITING = 20_000
"""Messages in the receiving socket; beyond it they are lost, which shows as a gap."""


class KvFeed:
    """Follows one DP rank of one worker while it is entered.

    name: of the worker in its router. emptied: called when its cache was seen to be lost.
    """

    def __init__(
        self,
        name: str,
        endpoint: str,
        replay: str | None,
        stream: KvStream,
        *,
        max_lag_s: float,
        emptied: Callable[[str], None],
    ) -> None:
        self.name = name
        self.endpoint, self.replay = endpoint, replay
        self.stream = stream
        self.exact = Exact(stream.held)
        self.obstacle: str | None = None
        self.connected = False
        self._max_lag_s = max_lag_s
        self._on_emptied = emptied
        self._emptied = self._broken = 0
        self._wanted = asyncio.Event()
        self._ended = asyncio.Event()
        self._said: bool | None = None
        self._said_at = time.monotonic()

    async def __aenter__(self) -> Self:
        self._context = zmq.asyncio.Context()
        self._tasks = [asyncio.ensure_future(task) for task in (self._listen(), self._watch(), self._ask())]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        self._context.destroy(linger=0)

    def settle(self) -> None:
        """Draw the conclusions of what became known."""
        stream, exact = self.stream, self.exact
        counts = stream.counts
        broken = counts.restarts + counts.lost + counts.corrupt
        if broken != self._broken:
            self._broken = broken
            exact.renew()
        if stream.emptied != self._emptied and not stream.syncing:
            self._emptied = stream.emptied
            self._on_emptied(self.name)
        exact.complete = stream.complete
        exact.trouble = self._trouble()
        if stream.replay_from is not None:
            self._wanted.set()
        self._say()

    def _trouble(self) -> str | None:
        stream = self.stream
        if self.obstacle is not None:
            return self.obstacle
        if not self.connected:
            return f"no connection to {self.endpoint}"
        if stream.syncing:
            return stream.trouble or "finding out what was missed"
        if stream.counts.foreign and not stream.counts.messages:
            return stream.trouble
        if stream.lag_s is not None and stream.lag_s > self._max_lag_s:
            return f"events are {stream.lag_s:.1f} s old"
        return None

    def _say(self) -> None:
        """A line when events are used from now on, or not any more; not one each time where that changes often."""
        trusted, now = self.exact.trusted, time.monotonic()
        soon = now - self._said_at < _QUIET_S and not (trusted and self._said is None)
        if trusted is self._said or soon:
            return
        self._said, self._said_at = trusted, now
        if trusted:
            _log.info("worker %s: exact by its KV events", self.name)
        else:
            why = "; ".join(filter(None, (self.exact.reason, self.stream.trouble)))
            _log.warning("worker %s: predicted, not exact: %s", self.name, why)

    async def _listen(self) -> None:
        socket = self._context.socket(zmq.SUB)
        socket.setsockopt(zmq.RCVHWM, _MOST_WAITING)
        socket.setsockopt(zmq.HEARTBEAT_IVL, 500)
        socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, 1000)
        socket.setsockopt(zmq.RECONNECT_IVL, 100)
        socket.setsockopt(zmq.RECONNECT_IVL_MAX, 500)
        socket.subscribe(b"")
        self._monitor = socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED)
        socket.connect(self.endpoint)
        for number in range(1 << 62):
            frames = await socket.recv_multipart()
            self.stream.live(frames, time.time())
            self.settle()
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)

    async def _watch(self) -> None:
        await asyncio.sleep(0)  # the monitor is made by the task before
        while True:
            event = await recv_monitor_message(self._monitor)
            self.connected = event["event"] == zmq.EVENT_HANDSHAKE_SUCCEEDED
            if self.connected:
                self.stream.connected()
            else:
                self.stream.disconnected()
            self.settle()

    async def _ask(self) -> None:
        """Ask for replays when they are wanted, and once in a while whether one would be."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_CHECK_S):
                    await self._wanted.wait()
            self._wanted.clear()
            if self.connected:
                self.stream.check()
            start = self.stream.asked()
            if start is not None and self.replay is not None:
                await self._replayed(self.replay, start)
            self.settle()

    async def _replayed(self, endpoint: str, start: int) -> None:
        socket = self._context.socket(zmq.DEALER)
        socket.setsockopt(zmq.LINGER, 0)
        socket.connect(endpoint)
        try:
            await socket.send_multipart([b"", start.to_bytes(8, "big")])
            count = 0
            while self.stream.asking:
                async with asyncio.timeout(_REPLAY_S):
                    frames = await socket.recv_multipart()
                self.stream.replayed(frames)
                count += 1
                if count % _AT_ONCE == 0:
                    await asyncio.sleep(0)
        except TimeoutError:
            self.stream.trouble = f"{endpoint} did not answer"
            self.stream.replay_failed()
        finally:
            socket.close()
