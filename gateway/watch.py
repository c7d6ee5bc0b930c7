"""What ends a request from outside: its client leaves, or its time is over.

Either cancels the request's task, wherever it waits, which closes the engine's connection and frees its place. Time
is not measured by a timer each (2 us) but by the one clock of gateway.upstream, which looks at all that are open.
"""

import asyncio
from types import TracebackType
from typing import Self

from gateway.errors import Refusal
from gateway.incoming import ClientGone, Receive


class Watch:
    """Watches the current task while it is entered; at its exit the cancellation becomes ClientGone or a Refusal.

    deadline: of the monotonic clock, None: no limit. late: the error's code when it is over.
    """

    __slots__ = ("_all", "_follower", "_task", "_why", "deadline", "late")

    def __init__(self, watches: "set[Watch]") -> None:
        self._all = watches
        self._follower: asyncio.Task[None] | None = None
        self._why: str | None = None  # the code of a refusal; "": the client left
        self.deadline: float | None = None
        self.late = "total_timeout"

    def __enter__(self) -> Self:
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._all.add(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._all.discard(self)
        if self._follower is not None:
            self._follower.cancel()
        if self._why is not None and isinstance(error, asyncio.CancelledError) and not self._task.uncancel():
            raise (Refusal(self._why) if self._why else ClientGone()) from None

    def limit(self, deadline: float | None, late: str) -> None:
        """From now on this is the deadline."""
        self.deadline, self.late = deadline, late

    def follow(self, receive: Receive) -> None:
        """Notice the client leaving; its request has been read."""
        self._follower = asyncio.ensure_future(_until_gone(receive))
        self._follower.add_done_callback(lambda done: None if done.cancelled() else self._end(""))

    def expire(self) -> None:
        """Its time is over."""
        self.deadline = None
        self._end(self.late)

    def _end(self, why: str) -> None:
        if self._why is None and self in self._all:
            self._why = why
            self._task.cancel(why or "the client left")


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
