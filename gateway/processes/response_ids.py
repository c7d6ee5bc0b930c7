"""Which worker keeps a response, known in every process: each tells what it learns, and asks what it does not know.

A client may name a response in the very moment it has its id, over another connection. So an id is told before the
bytes that hold it leave, and a process that does not know one asks the parent, which was told.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from gateway.processes.messages import Kept, Sought
from gateway.response_ids import Owner, ResponseIds

ANSWER_S: Final = 0.5


class ToldIds(ResponseIds):
    """A child's. say: tells the parent."""

    __slots__ = ("_say", "_sought")

    def __init__(self, say: Callable[[Kept | Sought], None]) -> None:
        super().__init__()
        self._say = say
        self._sought: dict[str, asyncio.Future[None]] = {}

    def remember(self, name: str, worker: str, customer: str | None, now: float) -> None:
        """As in ResponseIds, and told when it is news."""
        known = self._owners.get(name)
        super().remember(name, worker, customer, now)
        if known is None and name in self._owners:
            self._say(Kept(name, worker, customer))

    async def seek(self, name: str, now: float) -> Owner | None:
        """As in ResponseIds: the parent is asked."""
        known = self.owner(name, now)
        if known is not None:
            return known
        future = self._sought.get(name)
        if future is None:
            future = self._sought[name] = asyncio.get_running_loop().create_future()
            self._say(Sought(name))
        try:
            async with asyncio.timeout(ANSWER_S):
                await asyncio.shield(future)
        except TimeoutError:
            self._sought.pop(name, None)
        return self.owner(name, now)

    def learn(self, kept: Kept, now: float) -> None:
        """The parent said who keeps it, or that it does not know either."""
        if kept.worker is not None:
            super().remember(kept.name, kept.worker, kept.customer, now)
        future = self._sought.pop(kept.name, None)
        if future is not None and not future.done():
            future.set_result(None)
