"""Engines and a router in virtual time.

One idea: nothing happens between two events (an arrival, the end of an engine's iteration, the next report of an
engine that only decodes), so time jumps from one to the next. The router is the gateway's own object and sees what
the gateway would show it: its dispatches, first tokens, ends of responses and their `cached_tokens`. The engines are
engine_adapter.engine_model, which is held equal to SGLang. Not simulated: network, tokenization, the gateway's own
time, aborted requests; a request's allowed output is what it generates, so engines reserve exactly that.
"""

from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from math import inf
from typing import Protocol

import msgspec

from engine_adapter.engine_model import EngineModel
from engine_adapter.engine_request import EngineConfig, EngineRequest, Step
from gateway.router import Route
from gateway.simulate.workload import SimulatedRequest

PROGRESS_EVERY = 256


class Placing(Protocol):
    """What a simulation asks of a router: `gateway.router.Router` or a reference to compare it with."""

    def add_worker(self, worker: str, *, kv_capacity_tokens: int | None = None, now: float = 0.0) -> None:
        """A worker joined."""

    def route(self, blocks: Sequence[int], prompt_tokens: int, now: float, *, session: str | None = None) -> Route:
        """Choose a worker."""

    def on_first_token(self, route: Route, now: float) -> None:
        """Its first token arrived."""

    def release(
        self,
        route: Route,
        now: float,
        *,
        cached_tokens: int | None,
        output_tokens: int,
        output_blocks: Sequence[int] = (),
    ) -> None:
        """It ended."""


class Outcome(msgspec.Struct, gc=False):
    """What became of one request: engine, seconds of virtual time, and the tokens that its engine had cached.

    ttft_s: None before the first token.
    """

    engine: int
    route: Route
    began_s: float
    ttft_s: float | None = None
    ended_s: float = 0.0
    cached_tokens: int = 0


class _Engine:
    """One engine, between two iterations or in one. `event`: number of the event that it waits for, 0 for none.

    at: when its last iteration ended. step: the iteration it is in; None while it is idle or decodes undisturbed,
    `rest` steps if nothing comes.
    """

    __slots__ = ("at", "event", "model", "number", "rest", "step")

    def __init__(self, number: int, config: EngineConfig) -> None:
        self.number = number
        self.model = EngineModel(config)
        self.at = 0.0
        self.step: Step | None = None
        self.rest = 0
        self.event = 0


class VirtualFleet:
    """Engines of these configurations behind a router. `rate`: how many times as fast the trace arrives."""

    def __init__(self, engines: Sequence[EngineConfig], router: Placing, *, rate: float = 1.0) -> None:
        self._engines = {str(number): _Engine(number, config) for number, config in enumerate(engines)}
        self._router = router
        self._rate = rate
        self._events: list[tuple[float, int, _Engine | int]] = []
        self._count = 0
        self._requests: Sequence[SimulatedRequest] = ()
        self._outcomes: dict[int, Outcome] = {}
        self._flying: dict[EngineRequest, int] = {}
        self._followers: dict[int, list[int]] = {}
        for worker, engine in self._engines.items():
            router.add_worker(worker, kv_capacity_tokens=engine.model.config.pool_tokens)

    def play(self, requests: Sequence[SimulatedRequest], done: Callable[[int], None]) -> list[Outcome]:
        """Serve all requests; what became of each, in their order. `done` hears how many have ended."""
        self._requests = requests
        for number, request in enumerate(requests):
            if request.after is not None:
                self._followers.setdefault(request.after, []).append(number)
        arrivals = self._arrivals(requests)
        arrival_s, arriving = next(arrivals)
        events, ended, told = self._events, 0, PROGRESS_EVERY
        while True:
            if not events or arrival_s <= events[0][0]:
                if arriving is None:
                    break
                self._arrive(arrival_s, arriving)
                arrival_s, arriving = next(arrivals)
                continue
            now, event, whose = heappop(events)
            if isinstance(whose, int):
                self._arrive(now, whose)
            elif whose.event == event:
                ended += self._tell(now, whose)
                if ended >= told:
                    told = ended - ended % PROGRESS_EVERY + PROGRESS_EVERY
                    done(ended)
        done(ended)
        return [self._outcomes[number] for number in range(len(requests))]

    def _arrivals(self, requests: Sequence[SimulatedRequest]) -> Iterator[tuple[float, int | None]]:
        """When which request arrives that waits for no other, then never none: events at one time come after them."""
        first = [(request.arrival_s / self._rate, n) for n, request in enumerate(requests) if request.after is None]
        yield from sorted(first)
        yield inf, None

    def _arrive(self, now: float, number: int) -> None:
        request = self._requests[number]
        route = self._router.route(request.blocks, request.prompt_tokens, now, session=request.session)
        engine = self._engines[route.worker]
        self._outcomes[number] = Outcome(engine.number, route, now)
        output = request.output_tokens
        asked = EngineRequest(
            key=request.key,
            prompt_tokens=request.prompt_tokens,
            output_tokens=output,
            max_output_tokens=output,
            report_every=0,
        )
        self._flying[asked] = number
        if engine.event == 0:
            engine.model.submit(asked)
            self._go_on(now, engine)
        elif engine.step is None and not engine.model.full:
            step = engine.step = engine.model.step(now - engine.at)
            assert step is not None
            engine.model.submit(asked)
            self._expect(engine.at + step.seconds, engine)
        else:
            engine.model.submit(asked)

    def _tell(self, now: float, engine: _Engine) -> int:
        """The engine's iteration is over, or its rest: pass on what it reports; how many requests have ended."""
        step = engine.step
        reports = engine.model.play_rest(engine.rest) if step is None else step.reports
        ended = 0
        for asked, _, finished in reports:
            number = self._flying[asked]
            outcome = self._outcomes[number]
            if outcome.ttft_s is None:
                outcome.ttft_s = now - outcome.began_s
                self._router.on_first_token(outcome.route, now)
            if finished:
                ended += 1
                del self._flying[asked]
                self._end(now, number, outcome, asked)
        self._go_on(now, engine)
        return ended

    def _end(self, now: float, number: int, outcome: Outcome, asked: EngineRequest) -> None:
        """A request has ended: its session's next one may come."""
        outcome.ended_s, outcome.cached_tokens = now, asked.cached_tokens
        self._router.release(
            outcome.route,
            now,
            cached_tokens=asked.cached_tokens,
            output_tokens=asked.output_tokens,
            output_blocks=self._requests[number].out_blocks,
        )
        for follower in self._followers.get(number, ()):
            self._count += 1
            arrival_s = self._requests[follower].arrival_s / self._rate
            heappush(self._events, (max(now, arrival_s), self._count, follower))

    def _go_on(self, now: float, engine: _Engine) -> None:
        """Begin what the engine does next."""
        engine.at = now
        engine.step = None
        engine.rest, seconds = engine.model.rest()
        if not engine.rest:
            engine.step = engine.model.step()
            if engine.step is None:
                engine.event = 0
                return
            seconds = engine.step.seconds
        self._expect(now + seconds, engine)

    def _expect(self, at: float, engine: _Engine) -> None:
        engine.event = self._count = self._count + 1
        heappush(self._events, (at, self._count, engine))
