"""One run over real HTTP, from the first request to the report."""

import asyncio
import gc
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from random import Random
from typing import Final

from gateway.bench.client import Target
from gateway.bench.compare import compare
from gateway.bench.gauges import Sampler
from gateway.bench.loops import Side, closed_loop, open_loop
from gateway.bench.options import Options
from gateway.bench.outcome import Outcome
from gateway.bench.prepare import Prepared, admin_headers, headers_of, prepare
from gateway.bench.report import Report, Setting, warnings
from gateway.bench.source import Source
from gateway.bench.summary import summarize
from gateway.bench.target import url_of
from gateway.version import __version__

TICK_S: Final = 0.02

Begun = Callable[[Prepared], Callable[[Outcome], None]]


class _Clock:
    """Seconds since the run began, and the delays of the event loop.

    Not the loop's own clock: uvloop's counts milliseconds, and stands still while callbacks run.
    """

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self._cpu = time.process_time()
        self.delays: list[float] = []

    def __call__(self) -> float:
        return time.perf_counter() - self._start

    def cpu_share(self) -> float:
        """Of one processor, since the run began."""
        return (time.process_time() - self._cpu) / max(self(), 1e-9)

    async def watch(self) -> None:
        """Note how much later than asked the loop comes back, until cancelled."""
        while True:
            asked = self() + TICK_S
            await asyncio.sleep(TICK_S)
            self.delays.append(max(0.0, self() - asked))


async def run(options: Options, source: Source, begun: Begun) -> Report:
    """Prepare, send, add up. begun: hears what will be sent, and gives what hears of each end.

    A run that is cancelled reports what it had measured. Raises PrefixgateErrors before anything is sent.
    """
    urls = [url_of(url) for url in (options.url, options.compare) if url is not None]
    headers, timeout = headers_of(options), options.seconds("timeout") or 600.0
    async with AsyncExitStack() as stack:
        targets = [Target(url, headers, timeout) for url in urls]
        for target in targets:
            stack.push_async_callback(target.http.close)
        prepared = await prepare(options, source, targets)
        gc.collect()
        gc.freeze()  # what was prepared stays, so that no collection during the run has to look at it
        started = time.time()
        clock, outcomes = _Clock(), list[Outcome]()
        engines = [url_of(engine) for engine in options.engine]
        told = admin_headers(options, headers)
        samplers = [await stack.enter_async_context(Sampler(url, engines, clock, told)) for url in urls]
        interrupted = await _send(options, prepared, targets, samplers, clock, outcomes, begun(prepared))
    gc.unfreeze()
    share = clock.cpu_share()
    return _report(options, prepared, urls, outcomes, samplers, clock, share, started, interrupted=interrupted)


async def _send(
    options: Options,
    prepared: Prepared,
    targets: Sequence[Target],
    samplers: Sequence[Sampler],
    clock: _Clock,
    outcomes: list[Outcome],
    ended: Callable[[Outcome], None],
) -> bool:
    """Send everything; whether it was cut short."""
    count = len(prepared.source.requests) if prepared.planned is None else len(prepared.planned)
    warmup, requests = options.warm_up(count), prepared.source.requests
    sides = [
        Side(nth, target, requests, bodies, prepared.turns, warmup, clock, outcomes, ended)
        for nth, (target, bodies) in enumerate(zip(targets, prepared.bodies, strict=True))
    ]
    try:
        async with asyncio.TaskGroup() as watchers:
            watching = [watchers.create_task(each) for each in (clock.watch(), *(each.run() for each in samplers))]
            async with asyncio.TaskGroup() as senders:
                for side in sides:
                    senders.create_task(_drive(options, prepared, side))
            for task in watching:
                task.cancel()
    except asyncio.CancelledError:
        task_now = asyncio.current_task()
        assert task_now is not None
        task_now.uncancel()
        return True
    return False


async def _drive(options: Options, prepared: Prepared, side: Side) -> None:
    if options.concurrency is None:
        await open_loop(side, prepared.slots(options))
    else:
        await closed_loop(side, prepared.slots(options), options.concurrency, options.seconds("duration"))


def _report(
    options: Options,
    prepared: Prepared,
    urls: Sequence[str],
    outcomes: list[Outcome],
    samplers: Sequence[Sampler],
    clock: _Clock,
    cpu_share: float,
    started: float,
    *,
    interrupted: bool,
) -> Report:
    slos = options.slos()
    sides = [
        summarize(
            url,
            [outcome for outcome in outcomes if outcome.side == nth],
            slos,
            loop_s=clock.delays,
            cpu_share=cpu_share,
            own_s=partial(prepared.turns.plan_s, nth),
        )
        for nth, url in enumerate(urls)
    ]
    comparison = compare(outcomes, Random(prepared.seed)) if len(sides) > 1 else None  # noqa: S311 - to be repeated
    again = any(outcome.number >= len(prepared.source.requests) for outcome in outcomes)
    said = warnings(sides, outcomes, comparison, again=again, open_loop=prepared.planned is not None)
    setting = Setting(
        source=prepared.source.name,
        kind=prepared.source.kind,
        arrival=options.in_words,
        seed=prepared.seed,
        isolation=prepared.isolation,
        model=prepared.model,
        slos={slo.what: slo.most_s for slo in slos},
        interleave=options.interleave if comparison is not None else None,
        window_s=prepared.turns.window_s if comparison is not None else None,
    )
    gauges = [sampler.seen for sampler in samplers]
    return Report(
        __version__, started, setting, sides, comparison, prepared.warnings + said, interrupted, outcomes, gauges
    )
