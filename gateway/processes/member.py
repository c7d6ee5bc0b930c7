"""One child as its parent knows it: its questions and answers, its connections, how it stands."""

import asyncio
import signal
import socket
import time
from collections.abc import Callable
from typing import Final

from gateway.processes.ends import Ends
from gateway.processes.messages import (
    Applied,
    Closed,
    Drain,
    Examined,
    Failed,
    Finished,
    Kept,
    Leaving,
    Message,
    Sought,
    Standing,
    Started,
    Suspected,
    Told,
    ToParent,
)
from gateway.processes.sharing import Heard
from gateway.processes.spawn import Spawned
from gateway.processes.wire import Wire
from prefix.errors import ConfigError

NOBODY: Final = Standing(0, {}, {}, {}, {})
_KILLED_S: Final = 2.0
"""A child whose wire has ended has so long to end itself."""
Answer = Applied | Standing | Examined
Unasked = Finished | Suspected | Kept | Sought | Told


class Member:
    """A child. number: its place, which its successor has too. tell: called with what it says unasked; asked: with
    the pipe of each operator's request that came to it.

    told: what it told all others. standing: how it stood when last asked. heard: when it last said something, in
    monotonic seconds. fault: why it could not begin.
    """

    def __init__(
        self,
        number: int,
        spawned: Spawned,
        wire: Wire[ToParent],
        tell: Callable[["Member", Unasked], None],
        asked: Callable[[socket.socket], None],
    ) -> None:
        self.number = number
        self.process = spawned.process
        self.started = asyncio.Event()
        self.fault: str | None = None
        self.heard = time.monotonic()
        self.standing = NOBODY
        self.told = Heard()
        self._wire = wire
        self._tell = tell
        self._given = self._closed = 0
        self._ends = Ends(spawned.ends, asked, self.stop_taking)
        self._taking = False
        self._waiting: dict[int, asyncio.Future[Answer | None]] = {}

    @property
    def open(self) -> int:
        """Connections it has."""
        return self._given - self._closed

    @property
    def taking(self) -> bool:
        """Whether it is given connections."""
        return self._taking

    def give(self, connection: socket.socket) -> bool:
        """Hand a connection over; False when it cannot take it now."""
        try:
            self._ends.give(connection)
        except OSError:
            return False
        self._given += 1
        return True

    def stop_taking(self) -> None:
        """No more connections for it."""
        self._taking = False

    def say(self, message: Message) -> None:
        """Tell it something."""
        self._wire.say(message)

    async def ask(self, serial: int, message: Message, timeout_s: float) -> Answer | None:
        """Tell it something that it answers; None when it does not in time, or ends first."""
        future: asyncio.Future[Answer | None] = asyncio.get_running_loop().create_future()
        self._waiting[serial] = future
        self._wire.say(message)
        try:
            async with asyncio.timeout(timeout_s):
                return await future
        except TimeoutError:
            return None
        finally:
            self._waiting.pop(serial, None)

    async def live(self) -> None:
        """Listen to it until its end."""
        async for message in self._wire.messages():
            self._hear(message)
        self.stop_taking()
        self._ends.close()
        self._wire.close()
        for future in self._waiting.values():
            if not future.done():
                future.set_result(None)

    async def ended(self) -> str:
        """How its process ended, in words; it is killed if it does not."""
        try:
            await asyncio.wait_for(asyncio.to_thread(self.process.wait), _KILLED_S)
        except TimeoutError:
            self.process.kill()
            await asyncio.to_thread(self.process.wait)
        code = self.process.returncode
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"

    def _hear(self, message: ToParent) -> None:
        self.heard = time.monotonic()
        match message:
            case Applied() | Standing() | Examined():
                if isinstance(message, Standing):
                    self.standing = message
                future = self._waiting.get(message.serial)
                if future is not None and not future.done():
                    future.set_result(message)
            case Started():
                self._taking = True
                self.started.set()
            case Leaving():
                self.stop_taking()
                self.say(Drain())
            case Failed(reason):
                self.fault = reason
            case Closed(connections):
                self._closed = connections
            case _:
                self._tell(self, message)


def not_begun(member: Member, how: str) -> ConfigError:
    """The error of a child that ended before it served."""
    return ConfigError(f"process {member.number} did not start: {member.fault or how}")
