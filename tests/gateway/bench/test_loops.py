"""gateway.bench.loops: an open loop does not wait for the target, a closed one does, and turns stay in order."""

import asyncio
from itertools import count, islice, repeat

from aiohttp import web

from gateway.bench.loops import Warmup, closed_loop, open_loop
from gateway.bench.outcome import Outcome
from gateway.bench.plan import Turns, limited, slots
from tests.gateway.bench.target import STREAM, recorded, side_of, streaming, target

COUNT = 12
STEP_S = 0.01


class Stalling:
    """A target that answers nobody until so many requests have come."""

    def __init__(self, until: int) -> None:
        self.until = until
        self.came = 0
        self.most_at_once = 0
        self.order: list[str] = []
        self._at_once = 0
        self._enough = asyncio.Event()
        self._stream = streaming(*STREAM)

    async def respond(self, request: web.Request) -> web.StreamResponse:
        self.came += 1
        self.order.append(request.headers.get("x-prefixgate-session", ""))
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        if self.came >= self.until:
            self._enough.set()
        await self._enough.wait()
        self._at_once -= 1
        return await self._stream(request)


async def test_an_open_loop_does_not_slow_down_with_the_target() -> None:
    """The target answers nothing before the last request is there: in an open loop it comes. Intended times are kept,
    and the first request's TTFT shows the whole stall."""
    stalling, outcomes = Stalling(COUNT), list[Outcome]()
    async with asyncio.timeout(10), target(stalling.respond) as asked:
        side = side_of(asked, [recorded()], outcomes)
        await open_loop(side, limited(slots([None], count(0.0, STEP_S)), COUNT, None))
    assert stalling.most_at_once == COUNT
    outcomes.sort(key=lambda outcome: outcome.number)
    assert [outcome.due_s for outcome in outcomes] == list(islice(count(0.0, STEP_S), COUNT))
    assert all(outcome.error is None and outcome.shift_s == 0 for outcome in outcomes)
    slowest = outcomes[0].ttft_s
    assert slowest is not None
    assert slowest >= outcomes[-1].due_s - outcomes[0].due_s


async def test_a_closed_loop_has_so_many_in_flight() -> None:
    """Never more, and as many as there are places; each is due when its place is free."""
    stalling, outcomes = Stalling(4), list[Outcome]()
    async with asyncio.timeout(10), target(stalling.respond) as asked:
        side = side_of(asked, [recorded()], outcomes)
        await closed_loop(side, limited(slots([None], repeat(0.0)), COUNT, None), 4, None)
    assert (len(outcomes), stalling.most_at_once) == (COUNT, 4)
    assert all(outcome.planned_s == outcome.due_s for outcome in outcomes)


async def test_a_turn_waits_for_the_one_before_it() -> None:
    """Scheduled before its predecessor ended, it is due at that end: a shift, and no latency."""
    outcomes: list[Outcome] = []

    async def slow(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(5 * STEP_S)
        return await streaming(*STREAM)(request)

    talk = [recorded("s"), recorded("s", after=0), recorded()]
    async with asyncio.timeout(10), target(slow) as asked:
        side = side_of(asked, talk, outcomes)
        await open_loop(side, limited(slots([None, 0, None], count(0.0, STEP_S)), 3, None))
    by_number = {outcome.number: outcome for outcome in outcomes}
    first, second, other = (by_number[number] for number in range(3))
    assert second.due_s == first.ended_s
    assert second.shift_s > 0
    assert other.sent_s < first.ended_s
    assert other.shift_s == first.shift_s == 0


async def test_a_closed_loop_takes_others_while_a_turn_waits() -> None:
    """Places are not held by turns that cannot come yet; within a session the order is kept."""
    outcomes: list[Outcome] = []
    stalling = Stalling(2)
    talk = [recorded("s"), recorded("s", after=0), recorded("s", after=1), recorded("t"), recorded("t", after=3)]
    afters = [request.after for request in talk]
    async with asyncio.timeout(10), target(stalling.respond) as asked:
        side = side_of(asked, talk, outcomes)
        await closed_loop(side, limited(slots(afters, repeat(0.0)), 5, None), 2, None)
    assert stalling.most_at_once == 2
    assert {"s-0-0", "t-0-0"} == set(stalling.order[:2])
    ends = {outcome.number: outcome for outcome in outcomes}
    assert all(ends[nth].sent_s >= ends[before].ended_s for nth, before in ((1, 0), (2, 1), (4, 3)))


async def test_a_closed_loop_ends_after_its_time() -> None:
    """Though the source has no end."""
    outcomes: list[Outcome] = []
    async with asyncio.timeout(10), target(streaming(*STREAM)) as asked:
        side = side_of(asked, [recorded()], outcomes)
        await closed_loop(side, slots([None], repeat(0.0)), 2, 5 * STEP_S)
    assert outcomes
    assert all(outcome.due_s < 5 * STEP_S for outcome in outcomes)


async def test_sides_ask_in_their_own_windows() -> None:
    """Both loops: whatever is due for a side is due while the other rests, and pairs are counted alike."""
    turns, found = Turns("windows", 3 * STEP_S), list[Outcome]()
    async with asyncio.timeout(10), target(streaming(*STREAM)) as asked:
        sides = [side_of(asked, [recorded()], found, turns=turns, number=number) for number in (0, 1)]
        async with asyncio.TaskGroup() as group:
            for side in sides:
                group.create_task(open_loop(side, limited(slots([None], count(0.001, STEP_S)), 7, None)))
    assert all(turns.is_on(outcome.side, outcome.due_s) for outcome in found)
    pairs = [sorted(outcome.pair for outcome in found if outcome.side == side) for side in (0, 1)]
    assert pairs[0] == pairs[1] == [0, 0, 0, 1, 1, 1, 2]
    found.clear()
    async with asyncio.timeout(10), target(streaming(*STREAM)) as asked:
        sides = [side_of(asked, [recorded()], found, turns=turns, number=number) for number in (0, 1)]
        async with asyncio.TaskGroup() as group:
            for side in sides:
                group.create_task(closed_loop(side, slots([None], repeat(0.0)), 1, 5 * STEP_S))
    assert {outcome.side for outcome in found} == {0, 1}
    assert all(turns.is_on(outcome.side, outcome.due_s) for outcome in found)


def test_a_warm_up_is_a_number_or_a_time() -> None:
    """Of slots, or of the plan's first seconds."""
    assert [Warmup(requests=2).covers(number, 9.0) for number in range(3)] == [True, True, False]
    assert [Warmup(seconds=1.0).covers(9, at_s) for at_s in (0.0, 0.9, 1.0)] == [True, True, False]
