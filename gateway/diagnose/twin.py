"""The like of the observed workload, replayed in virtual time against the engine model.

One idea: a queue's cause cannot be read off a mean, but it can be tried. Requests are drawn from the exported length
histograms and come at the observed rate; the engine model (engine_adapter.engine_model, held equal to SGLang's
scheduler) serves them. What is the same in every replay is drawn once, so two replays differ by the resource alone.

What the twin does not know: which prompts share which prefix (one prefix is shared by all, as long as the hit rate
says), burstiness (arrivals are Poisson), and whether prompt and output lengths go together (drawn apart).
"""

from array import array
from dataclasses import replace
from itertools import count, islice
from math import inf
from random import Random
from typing import Final

import msgspec

from engine_adapter.engine_model import EngineModel
from engine_adapter.engine_request import EngineConfig, EngineRequest, Step
from engine_adapter.engine_timing import Timing
from gateway.diagnose.evidence import Evidence
from gateway.diagnose.page import Histogram

MOST_REQUESTS: Final = 500
_UNKNOWN_CAPACITY: Final = 1_000_000
_LEAST_PAGE, _PAGE_BYTES = 16, 4
"""Smaller pages cost a replay time and change nothing that a mean shows."""


class Ask(msgspec.Struct, frozen=True):
    """One request of the twin. shared: leading tokens that all prompts have in common."""

    arrival_s: float
    prompt_tokens: int
    output_tokens: int
    shared: int


class Phases(msgspec.Struct, frozen=True):
    """Mean seconds of a request in the engine, as a watcher of the window sees them. whole_s: of all requests, those
    included that end after it; what replays are compared by."""

    queue_s: float
    prefill_s: float
    decode_s: float
    whole_s: float

    @property
    def total_s(self) -> float:
        """The three together."""
        return self.queue_s + self.prefill_s + self.decode_s


class Twin(msgspec.Struct, frozen=True):
    """asks: what comes. config: the engine. reserve: allowed over generated output, as SGLang keeps KV for it."""

    asks: tuple[Ask, ...]
    config: EngineConfig
    reserve: float = 1.0

    def phases(self) -> Phases:
        """Replay it."""
        return _Replay(self).run()

    def with_timing(self, timing: Timing) -> "Twin":
        """The same workload on an engine of another speed."""
        return msgspec.structs.replace(self, config=replace(self.config, timing=timing))


def workload(evidence: Evidence, seed: int) -> tuple[Ask, ...]:
    """Requests for one engine like those of the window. What was there when it began comes at once."""
    random, engines = Random(seed), evidence.setup.engines  # noqa: S311 (a simulation)
    came = max(1, evidence.requests + evidence.grew)
    rate = came / evidence.seconds / engines
    wanted = min(MOST_REQUESTS, max(1, came // engines))
    backlog = min(evidence.backlog // engines, wanted)
    prompts, outputs = _lengths(evidence.prompts, wanted, random), _lengths(evidence.outputs, wanted, random)
    asks, now = [], 0.0
    for number, (prompt, output) in enumerate(zip(prompts, outputs, strict=True)):
        if number >= backlog:
            now += random.expovariate(rate)
        asks.append(Ask(now, prompt, output, int(prompt * evidence.hit_rate)))
    return tuple(asks)


def engine_of(evidence: Evidence, timing: Timing) -> EngineConfig:
    """The engine's configuration as far as it is known; where it is not, nothing that could bind."""
    setup, most = evidence.setup, EngineConfig()
    capacity = setup.kv_capacity_tokens or _UNKNOWN_CAPACITY
    return EngineConfig(
        page_tokens=max(_LEAST_PAGE, setup.page_tokens or 0),
        page_bytes=_PAGE_BYTES,
        kv_capacity_tokens=capacity,
        context_tokens=setup.context_tokens or most.context_tokens,
        chunk_tokens=setup.chunk_tokens or most.chunk_tokens,
        prefill_tokens=max(most.prefill_tokens, setup.chunk_tokens or 0),
        max_running=setup.max_running or 4_096,
        timing=timing,
    )


class _Sum:
    """A mean in the making."""

    __slots__ = ("count", "total")

    def __init__(self) -> None:
        self.count, self.total = 0, 0.0

    def add(self, value: float) -> None:
        self.count += 1
        self.total += value

    @property
    def mean(self) -> float:
        return self.total / self.count if self.count else 0.0


class _Replay:
    """One replay: requests in the order of their arrival, and when each was first scheduled."""

    def __init__(self, twin: Twin) -> None:
        self._asks, self._window_s = twin.asks, twin.asks[-1].arrival_s
        self._engine, fresh = EngineModel(twin.config), count(1 << 20)
        self._requests = [_request(ask, twin, fresh) for ask in twin.asks]
        self._came = {request: ask.arrival_s for ask, request in zip(twin.asks, self._requests, strict=True)}
        self._scheduled: dict[EngineRequest, float] = {}
        self._first: dict[EngineRequest, float] = {}
        self._arrived = self._begun = 0
        self._queue, self._prefill, self._tpot = _Sum(), _Sum(), _Sum()
        self._outputs, self._whole = _Sum(), _Sum()

    def run(self) -> Phases:
        """To the end of the last request."""
        engine, now = self._engine, 0.0
        while self._arrived < len(self._asks) or engine.busy:
            if not engine.busy:
                now = max(now, self._asks[self._arrived].arrival_s)
            self._arrive(now)
            step = engine.step(self._next_s() - now)
            if step is not None:
                self._begin(now)
                now += step.seconds
                self._tell(now, step)
        decode_s = self._tpot.mean * (self._outputs.mean - 1)
        return Phases(self._queue.mean, self._prefill.mean, decode_s, self._whole.mean)

    def _next_s(self) -> float:
        return self._asks[self._arrived].arrival_s if self._arrived < len(self._asks) else inf

    def _arrive(self, now: float) -> None:
        while self._next_s() <= now:
            self._engine.submit(self._requests[self._arrived])
            self._arrived += 1

    def _begin(self, now: float) -> None:
        """Who left the queue in this iteration; a retracted request comes back behind those that never began."""
        while self._begun < self._arrived and self._requests[self._begun] not in self._engine.waiting:
            request = self._requests[self._begun]
            self._scheduled[request] = now
            if now <= self._window_s:
                self._queue.add(now - self._came[request])
            self._begun += 1

    def _tell(self, now: float, step: Step) -> None:
        seen = now <= self._window_s
        for request, produced, finished in step.reports:
            if request not in self._first:
                self._first[request] = now
                if seen:
                    self._prefill.add(now - self._scheduled[request])
            if finished:
                self._whole.add(now - self._came[request])
            if finished and seen:
                self._outputs.add(produced)
                if produced > 1:
                    self._tpot.add((now - self._first[request]) / (produced - 1))


def _request(ask: Ask, twin: Twin, fresh: "count[int]") -> EngineRequest:
    """Its pages: the shared ones, then such as nobody else has."""
    config = twin.config
    prompt = min(ask.prompt_tokens, config.input_limit - 1)
    output = max(1, ask.output_tokens)
    shared = min(ask.shared, prompt) // config.page_tokens
    pages = -(-(prompt + output) // config.page_tokens)
    return EngineRequest(
        key=array("I", [*range(shared), *islice(fresh, pages - shared)]).tobytes(),
        prompt_tokens=prompt,
        output_tokens=output,
        max_output_tokens=max(output, int(output * twin.reserve)),
        report_every=0,
    )


def _lengths(histogram: Histogram, wanted: int, random: Random) -> list[int]:
    """Drawn evenly within the buckets, then scaled to the exact mean."""
    rows = [(low, low * 1.5 if high == inf else high, many) for low, high, many in histogram.rows if many > 0]
    if not rows:
        return [max(1, round(histogram.mean))] * wanted
    chosen = random.choices(rows, weights=[many for _, _, many in rows], k=wanted)
    drawn = [random.uniform(low, high) for low, high, _ in chosen]
    scale = histogram.mean * wanted / max(1e-9, sum(drawn))
    return [max(1, round(each * scale)) for each in drawn]
