"""The two ways of asking: open loop (requests leave when they are due, however late the answers are) and closed loop
(so many at a time, the next one when one has ended).

One idea: both keep a session's turns in order by the futures of `Ended`, and both write into one list of outcomes as
requests end, so that a run that is stopped has what it measured.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import heappop, heappush

import msgspec

from gateway.bench.client import Now, Target, pause_until
from gateway.bench.outcome import Outcome
from gateway.bench.plan import Slot, Turns
from gateway.bench.source import Recorded


class Warmup(msgspec.Struct, frozen=True):
    """What is not measured: so many requests, or those of the first seconds."""

    requests: int = 0
    seconds: float = 0.0

    def covers(self, number: int, at_s: float) -> bool:
        """Whether a slot is part of it."""
        return number < self.requests or at_s < self.seconds


class Side:
    """One target's part of a run. bodies: of the source's requests. now: seconds since the run's start."""

    def __init__(
        self,
        side: int,
        target: Target,
        requests: Sequence[Recorded],
        bodies: Sequence[bytes],
        turns: Turns,
        warmup: Warmup,
        now: Now,
        outcomes: list[Outcome],
        ended: Callable[[Outcome], None],
    ) -> None:
        self.side, self.target, self.turns, self.now = side, target, turns, now
        self._requests, self._bodies, self._warmup = requests, bodies, warmup
        self._outcomes, self._tell = outcomes, ended
        self._ends: dict[int, asyncio.Future[float]] = {}

    def end_of(self, number: int) -> asyncio.Future[float]:
        """When a slot ended, as soon as it has."""
        if number not in self._ends:
            self._ends[number] = asyncio.get_running_loop().create_future()
        return self._ends[number]

    async def serve(self, slot: Slot, planned_s: float, due_s: float) -> None:
        """Send a slot's request now, and note what became of it."""
        request = self._requests[slot.ask]
        sent_s = self.now()
        answer = await self.target.ask(request.path, self._bodies[slot.ask], self._headers(slot, request), self.now)
        ended_s = self.now()
        plan_s = self.turns.plan_s(self.side, planned_s)
        usage = answer.usage
        outcome = Outcome(
            slot.number,
            self.side,
            self.turns.pair(plan_s),
            request.path,
            request.route or "default",
            not self._warmup.covers(slot.number, plan_s),
            planned_s,
            due_s,
            sent_s,
            ended_s,
            answer.content_s,
            request.prompt_tokens,
            usage.input_total if usage else None,
            usage.cached_read if usage else None,
            usage.output if usage else None,
            answer.error,
            answer.detail,
        )
        self._outcomes.append(outcome)
        self.end_of(slot.number).set_result(ended_s)
        self._tell(outcome)

    def _headers(self, slot: Slot, request: Recorded) -> Mapping[str, str]:
        headers = {}
        if request.route is not None:
            headers["x-prefixgate-route"] = request.route
        if request.session is not None:
            again = slot.number - slot.ask
            headers["x-prefixgate-session"] = f"{request.session}-{self.side}-{again}"
        return headers


async def open_loop(side: Side, slots: Iterator[Slot]) -> None:
    """Every slot at its time; a session's turn at the end of the one before it, if that is later."""

    async def follow(slot: Slot, planned_s: float) -> None:
        due_s = planned_s
        if slot.after is not None:
            due_s = max(planned_s, await side.end_of(slot.after))
        await side.serve(slot, planned_s, due_s)

    async with asyncio.TaskGroup() as group:
        for slot in slots:
            planned_s = side.turns.real_s(side.side, slot.at_s)
            await pause_until(planned_s, side.now)
            group.create_task(follow(slot, planned_s))


async def closed_loop(side: Side, slots: Iterator[Slot], concurrency: int, seconds: float | None) -> None:
    """`concurrency` requests at a time, for so many seconds of the plan; each is due when its place is free."""
    queue = _Ready(slots)

    async def user() -> None:
        while (slot := await queue.get()) is not None:
            await _turn(side)
            due_s = side.now()
            if seconds is not None and side.turns.plan_s(side.side, due_s) >= seconds:
                queue.stop()
                return
            await side.serve(slot, due_s, due_s)
            queue.ended(slot.number)

    async with asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(user())


async def _turn(side: Side) -> None:
    while not side.turns.is_on(side.side, now := side.now()):
        half = side.turns.window_s
        await pause_until((now // half + 1) * half, side.now)


class _Ready:
    """The slots whose session's turn has come, lowest number first."""

    def __init__(self, slots: Iterator[Slot]) -> None:
        self._slots = slots
        self._ready: list[tuple[int, Slot]] = []
        self._parked: dict[int, Slot] = {}
        self._ended: set[int] = set()
        self._through = False
        self._change = asyncio.Event()

    async def get(self) -> Slot | None:
        """The next one, waiting for it; None when there will be none."""
        while (slot := self._take()) is None:
            if self._through and not self._parked:
                return None
            self._change.clear()
            await self._change.wait()
        return slot

    def stop(self) -> None:
        """No more."""
        self._slots = iter(())
        self._ready.clear()
        self._parked.clear()
        self._change.set()

    def ended(self, number: int) -> None:
        """A slot's answer is there."""
        self._ended.add(number)
        if (slot := self._parked.pop(number, None)) is not None:
            heappush(self._ready, (slot.number, slot))
        self._change.set()

    def _take(self) -> Slot | None:
        if self._ready:
            return heappop(self._ready)[1]
        for slot in self._slots:
            if slot.after is None or slot.after in self._ended:
                return slot
            self._parked[slot.after] = slot
        self._through = True
        return None
