"""The children of one gateway together: started, followed, started anew; told what changes, and asked how they stand.

One idea: a change has a serial, and is done when every child that serves has answered it. A child that begins later
hears first how everything is, so nobody waits for one that has ended; one that does not answer in time is named.
"""

import asyncio
import logging
import secrets
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from gateway.breaker import Breakers
from gateway.breaker import State as BreakerState
from gateway.config import Config
from gateway.models import Models
from gateway.others import together
from gateway.processes.fleet import ToldWorkers, view_of
from gateway.processes.member import Answer, Member, Unasked, not_begun
from gateway.processes.messages import (
    Applied,
    Begin,
    Drain,
    Examine,
    Examined,
    Fleet,
    Look,
    Message,
    Reload,
    ToParent,
)
from gateway.processes.spawn import Spawned, spawn
from gateway.processes.wire import Wire
from gateway.workers import Worker
from prefix.causes import Cause

APPLY_S: Final = 5.0
"""A child that has not applied a change by then is named."""
LOOK_S: Final = 0.25
"""One that has not said how it stands by then is taken to stand as it did."""
HUNG_S: Final = 30.0
"""One that has said nothing for so long is killed: its connections are served by nobody."""
EXAMINE_S: Final = 5.0
_PAUSE_S: Final = 0.1
_LONGEST_PAUSE_S: Final = 10.0
_STEADY_S: Final = 30.0
"""A child that served so long ended for a new reason."""
_WORST: Final[Mapping[BreakerState, int]] = {"closed": 0, "half_open": 1, "open": 2}
_log = logging.getLogger("prefixgate")


class Crew:
    """The children; the first ones are there and know nothing yet.

    hear: called with what one says unasked; asked: with the pipe of each operator's request; ready: when one begins
    to take connections; greet: with one that has heard how workers are; gone: with one that ended.
    """

    def __init__(self, config: Config, children: Sequence[Spawned]) -> None:
        self._config = config
        self._waiting = list(children)
        self._secret = secrets.token_bytes(32)
        self._serial = 0
        self._members: dict[int, Member] = {}
        self._begun = [asyncio.Event() for _ in range(config.processes)]
        self._changed: dict[str, Worker] = {}
        self._left: set[str] = set()
        self._telling: asyncio.Handle | None = None
        self._applying: dict[asyncio.Task[Answer | None], Member] = {}
        self._past: dict[str, Mapping[str, int]] = {"captures": {}, "spans": {}}
        self._ending = False
        self._workers: ToldWorkers | None = None
        self._restarts = dict.fromkeys(range(1, config.processes + 1), 0)
        self.hear: Callable[[Member, Unasked], None]
        self.asked: Callable[[socket.socket], None]
        self.ready: Callable[[], None]
        self.greet: Callable[[Member], None]
        self.gone: Callable[[Member], None]

    def workers(self, models: Models) -> ToldWorkers:
        """As gateway.others says."""
        self._workers = ToldWorkers(models, self._worker_changed, self._worker_left)
        self._workers.breakers = _SeenBreakers(self)
        return self._workers

    def queued(self) -> Mapping[str, int]:
        """Requests waiting in all children, by base model."""
        return _sum(member.standing.queued for member in self._all())

    def captures(self) -> Mapping[str, int]:
        """Captures of all children, also those that ended."""
        return together(self._past["captures"], _sum(member.standing.captures for member in self._all()))

    def spans(self) -> Mapping[str, int]:
        """Spans of all children, also those that ended."""
        return together(self._past["spans"], _sum(member.standing.spans for member in self._all()))

    def restarts(self) -> Mapping[str, int]:
        """How often each child was started anew, by its number."""
        return {str(number): count for number, count in self._restarts.items()}

    def taking(self) -> Iterator[Member]:
        """The children that are given connections."""
        return (member for member in self._all() if member.taking)

    def breaker(self, worker: str) -> BreakerState:
        """The worst that a child has of this worker."""
        standings = (member.standing.workers.get(worker) for member in self._all())
        states = [standing.breaker for standing in standings if standing is not None]
        return max(states, key=_WORST.__getitem__, default="closed")

    async def begin(self, timeout_s: float) -> None:
        """Until every child serves. Raises ConfigError when one ends before it does."""
        async with asyncio.timeout(timeout_s):
            await asyncio.gather(*(event.wait() for event in self._begun))

    async def keep(self, number: int) -> None:
        """Have a child in this place until the gateway ends. Raises ConfigError when the first cannot begin."""
        pause_s = _PAUSE_S
        while True:
            began = time.monotonic()
            member = await self._live(number)
            how = await member.ended()
            if self._ending:
                return
            if not self._begun[number - 1].is_set():
                raise not_begun(member, how)
            self._restarts[number] += 1
            pause_s = _PAUSE_S if time.monotonic() - began > _STEADY_S else min(_LONGEST_PAUSE_S, 2 * pause_s)
            reason = member.fault or how
            _log.error("process %d (pid %d) ended: %s; again in %g s", number, member.process.pid, reason, pause_s)
            await asyncio.sleep(pause_s)

    async def applied(self) -> list[int]:
        """Wait until every child applied what changed before; the numbers of those that did not in time."""
        self._tell()
        asked = dict(self._applying)
        answers = await asyncio.gather(*asked)
        late = {member for member, answer in zip(asked.values(), answers, strict=True) if answer is None}
        return sorted(member.number for member in self._all() if member in late)

    async def reload(self, config: Config) -> list[str]:
        """Have every child take over another configuration; what those say that did not."""
        self._config = config
        members = [member for member in self._all() if member.taking]
        answers = await asyncio.gather(*(self._ask(member, Reload, APPLY_S, config) for member in members))
        return [
            f"process {member.number}: {answer.error if isinstance(answer, Applied) else 'does not answer'}"
            for member, answer in zip(members, answers, strict=True)
            if not isinstance(answer, Applied) or answer.error is not None
        ]

    async def look(self) -> None:
        """Ask all how they stand; what they counted before is counted when this is over."""
        members = self._all()
        await asyncio.gather(*(self._ask(member, Look, LOOK_S) for member in members))
        for member in members:
            if time.monotonic() - member.heard > HUNG_S:
                _log.error("process %d (pid %d) hangs: it is killed", member.number, member.process.pid)
                member.process.kill()
        for worker in self._workers or ():
            standings = [member.standing.workers.get(worker.id) for member in self._all()]
            known = [standing for standing in standings if standing is not None]
            worker.in_flight = sum(standing.in_flight for standing in known)
            if worker.cache_report is None and any(standing.cache_report for standing in known):
                worker.cache_report = True
                self._worker_changed(worker)

    async def examine(self, member: Member, request_id: str) -> tuple[Cause | None, float]:
        """What parted a request of this child from its nearest, and the seconds that finding it took."""
        answer = await self._ask(member, Examine, EXAMINE_S, request_id)
        return (answer.cause, answer.spent_s) if isinstance(answer, Examined) else (None, 0.0)

    def tell_others(self, member: Member | None, message: Message) -> None:
        """Tell all but one."""
        for other in self._all():
            if other is not member:
                other.say(message)

    def drain(self) -> None:
        """No new requests; children end when those that run have ended."""
        self._ending = True
        for member in self._all():
            member.stop_taking()
            member.say(Drain())

    def kill(self) -> None:
        """End what has not ended."""
        self._ending = True
        for member in self._all():
            member.process.kill()

    def _all(self) -> tuple[Member, ...]:
        return tuple(self._members.values())

    async def _live(self, number: int) -> Member:
        """One child from its start to its end."""
        spawned = self._waiting.pop() if self._waiting else spawn()
        wire: Wire[ToParent] = await Wire.open(spawned.wire, ToParent)
        member = Member(number, spawned, wire, self.hear, self.asked)
        starting = asyncio.create_task(self._started(member))
        try:
            member.say(Begin(self._config, self._secret))
            views = tuple(view_of(worker) for worker in self._workers or ())
            member.say(Fleet(self._next(), views))
            self.greet(member)
            self._members[number] = member
            if self._ending:
                member.say(Drain())
            await member.live()
        finally:
            starting.cancel()
            self._members.pop(number, None)
            self.gone(member)
            for kind in ("captures", "spans"):
                self._past[kind] = together(self._past[kind], getattr(member.standing, kind))
        return member

    async def _started(self, member: Member) -> None:
        await member.started.wait()
        self._begun[member.number - 1].set()
        self.ready()

    def _worker_changed(self, worker: Worker) -> None:
        self._changed[worker.id] = worker
        self._soon()

    def _worker_left(self, name: str) -> None:
        self._changed.pop(name, None)
        self._left.add(name)
        self._soon()

    def _soon(self) -> None:
        if self._telling is None:
            self._telling = asyncio.get_running_loop().call_soon(self._tell)

    def _tell(self) -> None:
        """Tell every child what became of workers since the last time."""
        if self._telling is None:
            return
        self._telling.cancel()
        self._telling = None
        views, left = tuple(map(view_of, self._changed.values())), tuple(self._left)
        self._changed, self._left = {}, set()
        for member in self._all():
            task = asyncio.create_task(self._ask(member, Fleet, APPLY_S, views, left))
            self._applying[task] = member
            task.add_done_callback(self._applying.pop)

    async def _ask(
        self, member: Member, kind: Callable[..., Message], timeout_s: float, *values: object
    ) -> Answer | None:
        serial = self._next()
        return await member.ask(serial, kind(serial, *values), timeout_s)

    def _next(self) -> int:
        self._serial += 1
        return self._serial


class _SeenBreakers(Breakers):
    """The parent's: it has no requests of its own, so it shows what its children have."""

    __slots__ = ("_crew",)

    def __init__(self, crew: Crew) -> None:
        super().__init__()
        self._crew = crew

    def state(self, worker: str) -> BreakerState:
        """How it stands with this worker."""
        return self._crew.breaker(worker)


def _sum(counts: Iterator[Mapping[str, int]]) -> Mapping[str, int]:
    total: Mapping[str, int] = {}
    for each in counts:
        total = together(total, each)
    return total
