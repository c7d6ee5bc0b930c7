"""gateway.watch: a task is ended from outside in one of three ways, and each arrives as what it is."""

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

from gateway.errors import Refusal
from gateway.incoming import ClientGone
from gateway.watch import Watch


class Client:
    """What a server tells of its client."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()

    async def receive(self) -> MutableMapping[str, Any]:
        """Until it has left."""
        await self.gone.wait()
        return {"type": "http.disconnect"}


async def watched(watches: set[Watch], client: Client, seconds: float = 60.0) -> str:
    """A task that would take so long."""
    with Watch(watches) as watch:
        watch.limit(5.0, "total_timeout")
        watch.follow(client.receive)
        await asyncio.sleep(seconds)
    return "done"


async def begun(client: Client) -> tuple[set[Watch], "asyncio.Task[str]"]:
    """A task that is under way."""
    watches: set[Watch] = set()
    task = asyncio.ensure_future(watched(watches, client))
    await asyncio.sleep(0.01)
    assert len(watches) == 1
    return watches, task


async def test_a_client_that_leaves() -> None:
    """The task is cancelled, and its end is ClientGone."""
    client = Client()
    watches, task = await begun(client)
    client.gone.set()
    with pytest.raises(ClientGone):
        await task
    assert (watches, task.cancelling()) == (set(), 0)


async def test_a_time_that_is_over() -> None:
    """The end is the refusal that was set for it; a second look does not cancel twice."""
    watches, task = await begun(Client())
    (watch,) = watches
    assert watch.deadline == 5.0
    watch.expire()
    assert watch.deadline is None
    watch.expire()
    with pytest.raises(Refusal) as caught:
        await task
    assert (caught.value.code, watches, task.cancelling()) == ("total_timeout", set(), 0)


@pytest.mark.parametrize("late_too", [False, True])
async def test_a_server_that_stops(late_too: bool) -> None:
    """Its cancellation stays one, also when the time is over in the same moment."""
    watches, task = await begun(Client())
    if late_too:
        next(iter(watches)).expire()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert watches == set()


async def test_nothing_happens() -> None:
    """Nobody watches any more; who leaves or is late afterwards ends nothing."""
    client, watches = Client(), set[Watch]()
    assert await watched(watches, client, 0.0) == "done"
    client.gone.set()
    await asyncio.sleep(0.01)
    assert watches == set()
