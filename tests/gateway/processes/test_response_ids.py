"""gateway.processes.response_ids: who keeps a response is known wherever the next request arrives."""

import asyncio

from gateway.processes.messages import Kept, Message, Sought
from gateway.processes.response_ids import ToldIds
from gateway.response_ids import Owner


async def test_news_is_told_and_the_unknown_is_asked_for() -> None:
    """Once each: for an id of its own, and for one that several requests look for at a time."""
    said: list[Message] = []
    ids = ToldIds(said.append)
    for now in (0.0, 1.0):
        ids.remember("mine", "w1", "ann", now)
    assert said == [Kept("mine", "w1", "ann")]
    assert await ids.seek("mine", 2.0) == Owner("w1", "ann", 1.0)
    seeking = [asyncio.create_task(ids.seek("theirs", 3.0)) for _ in range(2)]
    await asyncio.sleep(0)
    assert said[1:] == [Sought("theirs")]
    ids.learn(Kept("theirs", "w2", None), 3.0)
    assert await asyncio.gather(*seeking) == [Owner("w2", None, 3.0)] * 2
    unknown = asyncio.create_task(ids.seek("nobody's", 4.0))
    await asyncio.sleep(0)
    ids.learn(Kept("nobody's", None, None), 4.0)
    assert await unknown is None
    assert len(said) == 3
