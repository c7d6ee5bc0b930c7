"""Listening to a source in a test."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gateway.discovery import Endpoints, Source


class Following:
    """What a source has said so far."""

    def __init__(self) -> None:
        self.told: list[Endpoints] = []
        self._heard = asyncio.Event()

    async def next(self) -> Endpoints:
        """The next thing it says."""
        said = len(self.told)
        async with asyncio.timeout(10):
            while len(self.told) == said:
                self._heard.clear()
                await self._heard.wait()
        return self.told[-1]

    async def says(self, endpoints: Endpoints) -> None:
        """Wait until this is what it says."""
        async with asyncio.timeout(10):
            while not self.told or self.told[-1] != endpoints:
                self._heard.clear()
                await self._heard.wait()

    async def listen(self, source: Source) -> None:
        """Until cancelled."""
        async for endpoints in source.watch():
            self.told.append(endpoints)
            self._heard.set()


@asynccontextmanager
async def following(source: Source) -> AsyncIterator[Following]:
    """A source that is listened to."""
    heard = Following()
    task = asyncio.ensure_future(heard.listen(source))
    try:
        yield heard
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
