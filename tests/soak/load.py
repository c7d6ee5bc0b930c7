"""Open-loop Poisson load: a request leaves at its time whether or not the ones before it were answered, up to a
number of open ones that a client's pool has too. What leaves late is counted.

The client side is the gateway's own pooled HTTP/1.1 client, because a load generator that costs more than what it
loads measures itself.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from gateway.config import Config
from gateway.http1 import EngineFault
from gateway.pool import Response
from gateway.upstream import Upstream
from tests.soak.faults import FAULT
from tests.soak.traffic import CHAT, Asked

ANSWER_WITHIN_S = 30.0
MOST_OPEN = 160
_LEAVE_AFTER_S = 0.002


@dataclass(slots=True)
class Tally:
    """What came of the requests. wrong: the first few that ended otherwise than they had to."""

    outcomes: Counter[str] = field(default_factory=Counter)
    intended: int = 0
    left: int = 0
    late: int = 0
    wrong: list[str] = field(default_factory=list)
    wrong_count: int = 0

    def note(self, asked: Asked, outcome: str) -> None:
        self.outcomes[outcome] += 1
        self.left += outcome == "left"
        self.intended += asked.fault is not None
        if outcome != "left" and outcome not in asked.expected:
            self.wrong_count += 1
            if len(self.wrong) < 20:
                self.wrong.append(f"{outcome} instead of {'/'.join(sorted(asked.expected))} (fault {asked.fault})")


async def send_at_rate(
    base: str, requests: Iterator[Asked], *, per_second: float, seconds: float, seed: int, tally: Tally
) -> None:
    """Send Poisson traffic for so long, then wait for the last answers."""
    draw = random.Random(seed)
    loop = asyncio.get_running_loop()
    due = loop.time()
    end = due + seconds
    config = Config(pool_idle_s=60.0, read_timeout_s=ANSWER_WITHIN_S)
    room = asyncio.Semaphore(MOST_OPEN)
    async with Upstream(config) as upstream, asyncio.TaskGroup() as group:
        while due < end:
            wait = due - loop.time()
            if wait > 0:
                await asyncio.sleep(wait)
            await room.acquire()
            tally.late += loop.time() - due > 0.1
            sent = group.create_task(_one(upstream, base, next(requests), tally))
            sent.add_done_callback(lambda _: room.release())
            due += draw.expovariate(per_second)


async def _one(upstream: Upstream, base: str, asked: Asked, tally: Tally) -> None:
    headers = [(b"content-type", b"application/json")]
    if asked.fault is not None:
        headers.append((FAULT.encode(), asked.fault.encode()))
    try:
        async with asyncio.timeout(_LEAVE_AFTER_S if asked.leave == "before the answer" else ANSWER_WITHIN_S):
            response = await upstream.post(base, CHAT, headers, asked.body)
            tally.note(asked, await _read(response, asked))
    except TimeoutError:
        tally.note(asked, "left" if asked.leave == "before the answer" else "timeout")
    except EngineFault as fault:
        tally.note(asked, fault.kind)


async def _read(response: Response, asked: Asked) -> str:
    try:
        tail = b""
        while piece := await response.read():
            if asked.leave == "in the answer":
                return "left"
            tail = (tail + piece)[-512:]
        return outcome(response.status, tail, stream=asked.stream)
    except EngineFault as fault:
        # the gateway leaves a broken stream without its end, after the event that says so
        return "broken" if b'"stream_broken"' in tail else fault.kind
    finally:
        response.close()


def outcome(status: int, tail: bytes, *, stream: bool) -> str:
    """How a complete answer ended. tail: its last bytes."""
    if status != 200:
        return str(status)
    whole = tail.endswith(b"data: [DONE]\n\n") if stream else b'"usage"' in tail and tail.rstrip().endswith(b"}")
    return "ok" if whole else "incomplete"
