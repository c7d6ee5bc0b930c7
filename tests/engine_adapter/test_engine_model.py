"""The scheduler in virtual time: who runs when, what it costs, and that nothing leaks."""

import itertools
import random
from dataclasses import replace
from math import inf

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine_adapter.engine_model import EngineModel
from engine_adapter.engine_request import EngineConfig, EngineRequest, Report, Step
from engine_adapter.engine_timing import PROFILES
from prefix.errors import EngineError
from prefix.radix import token_key

SMALL = EngineConfig(page_tokens=4, kv_capacity_tokens=256, context_tokens=512, chunk_tokens=64, max_running=4)
FRESH = itertools.count(1_000)


def request(prompt: list[int] | int, output: int = 1, **given: object) -> EngineRequest:
    """A request; a number stands for so many tokens that nobody else has."""
    tokens = [next(FRESH) for _ in range(prompt)] if isinstance(prompt, int) else prompt
    key = token_key([*tokens, *(next(FRESH) for _ in range(output))])
    made = EngineRequest(key=key, prompt_tokens=len(tokens), output_tokens=output, max_output_tokens=output)
    for name, value in given.items():
        setattr(made, name, value)
    return made


def drain(engine: EngineModel) -> tuple[float, list[Report]]:
    """Run until idle: the seconds it took, all reports."""
    seconds, reports = 0.0, []
    while engine.busy:
        step = engine.step()
        assert step is not None
        seconds += step.seconds
        reports += step.reports
    return seconds, reports


def test_two_at_once_both_compute_and_the_next_one_hits() -> None:
    """The prefix is matched when a request is scheduled, so one batch does not share what it computes."""
    engine = EngineModel(SMALL)
    prompt = list(range(20))
    first, second, third = (request(prompt) for _ in range(3))
    engine.submit(first)
    engine.submit(second)
    drain(engine)
    engine.submit(third)
    drain(engine)
    assert (first.cached_tokens, second.cached_tokens, third.cached_tokens) == (0, 0, 16)


def test_output_is_cached_but_for_its_last_token() -> None:
    """The next turn finds prompt and answer; the last token was never computed."""
    engine = EngineModel(replace(SMALL, page_tokens=1))
    turn = request(list(range(10)), output=6)
    engine.submit(turn)
    drain(engine)
    assert engine.cache.peek(turn.key, 16) == 15


def test_first_come_first_served_up_to_the_limit() -> None:
    """More requests than places: the queue keeps its order."""
    engine = EngineModel(SMALL)
    asked = [request(4, output=3) for _ in range(6)]
    for each in asked:
        engine.submit(each)
    engine.step()
    assert (engine.load().running, engine.load().waiting) == (4, 2)
    _, reports = drain(engine)
    ends = [report.request for report in reports if report.finished]
    assert ends == asked


def test_a_long_prompt_is_cut_into_chunks() -> None:
    """200 tokens in chunks of 64: four iterations, the first token after the last; each chunk is kept."""
    engine = EngineModel(SMALL)
    long = request(200, output=2)
    engine.submit(long)
    for computed in (64, 128, 192):
        step = engine.step()
        assert step is not None
        assert step.reports == []
        assert engine.chunked is long
        assert long.computed == computed
    step = engine.step()
    assert step is not None
    assert [(report.output_tokens, report.finished) for report in step.reports] == [(1, False)]


def test_a_short_prompt_shares_the_last_chunk() -> None:
    """What a chunk leaves of the iteration goes to the next in the queue."""
    engine = EngineModel(SMALL)
    long, short = request(80, output=2), request(8, output=2)
    engine.submit(long)
    engine.submit(short)
    engine.step()
    step = engine.step()
    assert step is not None
    assert [report.request for report in step.reports] == [long, short]


def test_prefill_goes_before_decode() -> None:
    """A request that arrives while others decode is prefilled in the next iteration."""
    engine = EngineModel(SMALL)
    old = request(8, output=20)
    engine.submit(old)
    engine.step()
    engine.step()
    new = request(8, output=2)
    engine.submit(new)
    step = engine.step()
    assert step is not None
    assert [report.request for report in step.reports] == [new]


def test_times_are_the_stated_model() -> None:
    """Prefill: overhead, tokens, attention growing with the position. Decode: step, requests, contexts."""
    timing = PROFILES["70b"]
    engine = EngineModel(EngineConfig(timing=timing))
    engine.submit(request(8_000, output=2))
    prefill, decode = engine.step(), engine.step()
    assert prefill is not None
    assert decode is not None
    assert prefill.seconds == pytest.approx(0.020 + (8_000 + 8_000**2 / 108_000) / 8_000)
    assert decode.seconds == pytest.approx(0.016 + 50e-6 + 35e-9 * 8_000)
    assert timing.prefill_s(54_000, 54_001) == pytest.approx(2 / 8_000, rel=1e-4)


def test_memory_keeps_requests_waiting() -> None:
    """A prompt is admitted only when it and its output fit beside what the running ones may still need."""
    engine = EngineModel(SMALL)
    asked = [request(40, output=60, ignore_eos=True) for _ in range(4)]
    for each in asked:
        engine.submit(each)
    engine.step()
    assert (engine.load().running, engine.load().waiting) == (2, 2)
    drain(engine)
    assert [each.retractions for each in asked] == [0, 0, 0, 0]


def test_too_much_hope_is_paid_with_a_retraction() -> None:
    """Room is kept for a part of the output that may end early; if it does not, the youngest queues again."""
    engine = EngineModel(replace(SMALL, page_tokens=1))
    asked = [request(30, output=64, report_every=0) for _ in range(3)]
    for each in asked:
        engine.submit(each)
        engine.step()
    _, reports = drain(engine)
    assert [each.retractions for each in asked] == [0, 0, 1]
    assert [report.output_tokens for report in reports if report.finished] == [64] * 3
    assert engine.cache.held_tokens == 0


def test_the_queue_keeps_its_prefix_warm() -> None:
    """Every 32nd pass touches what waiting requests will match, so that it is not evicted before."""
    engine = EngineModel(replace(SMALL, page_tokens=1, max_running=1))
    shared = list(range(100))
    engine.submit(request(shared))
    drain(engine)
    for _ in range(31):
        engine.submit(request(1))
        drain(engine)
    engine.submit(request(2, output=2))
    engine.submit(request(140))
    engine.submit(waiting := request([*shared, 7]))
    drain(engine)
    assert waiting.cached_tokens == 100


@pytest.mark.parametrize("prompt", [0, 250, 300])
def test_a_prompt_that_cannot_run_is_refused(prompt: int) -> None:
    """An empty prompt, or one that leaves no room in the pool."""
    with pytest.raises(EngineError, match=f"{prompt} tokens"):
        EngineModel(SMALL).submit(request(prompt))


def test_an_output_that_cannot_fit_is_cut() -> None:
    """The output ends where context or pool end, as the engine cuts max_new_tokens."""
    engine = EngineModel(SMALL)
    engine.submit(cut := request(100, output=400))
    drain(engine)
    assert cut.output_tokens == SMALL.output_limit(100, 400) == 151


def test_reports_come_as_often_as_asked() -> None:
    """Each token, each third token, or the first and the last."""
    counts = {}
    for every in (1, 3, 0):
        engine = EngineModel(SMALL)
        engine.submit(request(8, output=8, report_every=every))
        counts[every] = [report.output_tokens for report in drain(engine)[1]]
    assert counts == {1: list(range(1, 9)), 3: [1, 4, 7, 8], 0: [1, 8]}


def test_quiet_time_is_what_the_steps_take() -> None:
    """The engine knows how long nothing will be reported, and stepping through takes just that."""
    engine = EngineModel(SMALL)
    engine.submit(request(8, output=30, report_every=0))
    engine.submit(request(20, output=40, report_every=0))
    engine.step()
    quiet, seconds = engine.quiet_s(), 0.0
    while True:
        step = engine.step()
        assert step is not None
        if step.reports:
            break
        seconds += step.seconds
    assert quiet == pytest.approx(seconds)


def test_a_horizon_jumps_over_silent_steps() -> None:
    """With a horizon the same iterations run in one call, and take the same time."""
    totals = []
    for horizon in (0.0, 1e9):
        engine = EngineModel(SMALL)
        for tokens in (8, 20, 33):
            engine.submit(request(tokens, output=tokens, report_every=0))
        seconds, calls = 0.0, 0
        while engine.busy:
            step = engine.step(horizon)
            assert step is not None
            seconds, calls = seconds + step.seconds, calls + 1
        totals.append((seconds, calls))
    assert totals[0][0] == pytest.approx(totals[1][0])
    assert (totals[0][1], totals[1][1]) == (33, 4)


Heard = list[tuple[float, int, int, bool, int]]


def play(config: EngineConfig, arrivals: list[tuple[float, EngineRequest]], *, at_once: bool) -> Heard:
    """Serve arrivals in virtual time, decode steps one by one or up to the next report or arrival at once.

    What was heard: when, of which request, its tokens so far, whether it ended, how many were cached.
    """
    engine, now, heard = EngineModel(config), 0.0, Heard()
    waiting = list(enumerate(arrivals))
    numbers = {asked: number for number, (_, asked) in waiting}
    while waiting or engine.busy:
        if not engine.busy:
            now = max(now, waiting[0][1][0])
        while waiting and waiting[0][1][0] <= now:
            engine.submit(waiting.pop(0)[1][1])
        steps, rest = engine.rest() if at_once else (0, 0.0)
        disturbed_s = waiting[0][1][0] - now if waiting and not engine.full else inf
        if 0 < rest <= disturbed_s:
            step: Step | None = Step(rest, engine.play_rest(steps))
        else:
            step = engine.step(min(rest, disturbed_s))
        assert step is not None
        now += step.seconds
        assert not rest or step.seconds == pytest.approx(rest) or (waiting and now >= waiting[0][1][0])
        heard += [(now, numbers[r], count, done, r.cached_tokens) for r, count, done in step.reports]
    return heard


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 2**32), page=st.sampled_from([1, 4, 16]))
@example(seed=4, page=4)  # three retractions
def test_steps_at_once_are_steps_one_by_one(seed: int, page: int) -> None:
    """Jumping to the next report changes nothing: not when, not what is cached, evicted or retracted on the way."""
    runs = []
    for at_once in (False, True):
        chance, now, arrivals = random.Random(seed), 0.0, []
        for _ in range(40):
            now += chance.choice([0.0, 0.01, 0.3])
            prompt, output = [chance.randrange(2) for _ in range(chance.randint(1, 60))], chance.randint(1, 150)
            asked = request(prompt, output=output, report_every=chance.choice([0, 0, 7]))
            asked.max_output_tokens = output + chance.choice([0, 0, 40])
            arrivals.append((now, asked))
        heard = play(replace(SMALL, page_tokens=page, max_running=6), arrivals, at_once=at_once)
        runs.append((heard, [asked.retractions for _, asked in arrivals]))
    (one, retracted), (other, also) = runs
    assert retracted == also
    assert [event[1:] for event in one] == [event[1:] for event in other]
    assert [event[0] for event in one] == pytest.approx([event[0] for event in other])


def test_a_report_is_as_far_as_it_says() -> None:
    """The time to the next report when there is only decoding; none while something else is to be done."""
    engine = EngineModel(SMALL)
    assert engine.rest() == (0, 0.0)
    engine.submit(request(8, output=30, report_every=0))
    assert engine.rest() == (0, 0.0)
    engine.step()
    step = engine.step(engine.rest()[1])
    assert step is not None
    assert [report.finished for report in step.reports] == [True]


def test_room_for_output_is_the_sum_over_requests() -> None:
    """What is kept for running requests: their output still allowed, at most 4,096 each, in part or all of it."""
    engine = EngineModel(EngineConfig(kv_capacity_tokens=100_000))
    for allowed, sure in ((10, False), (20, True), (5_000, False), (6_000, True)):
        engine.submit(request(8, output=8, max_output_tokens=allowed, ignore_eos=sure))
        engine.step()
    assert engine.running.output_left(0.5) == 0.5 * (10 - 1) + (20 - 1) + 0.5 * 4_096 + 4_096
    drain(engine)
    assert engine.running.output_left(0.5) == 0


def test_flush_only_when_idle() -> None:
    """The cache is forgotten only when nobody uses it."""
    engine = EngineModel(SMALL)
    engine.submit(request(20, output=2))
    engine.step()
    assert not engine.flush()
    drain(engine)
    assert engine.flush()
    assert engine.cache.cached_tokens == 0


def test_load_counts_what_waits_uncached() -> None:
    """The load report has what the queue still has to compute, and what running requests occupy."""
    engine = EngineModel(replace(SMALL, max_running=1))
    engine.submit(request(40, output=5))
    engine.submit(request(30, output=5))
    engine.step()
    load = engine.load()
    assert (load.running, load.waiting, load.waiting_uncached_tokens) == (1, 1, 30)
    assert load.used_tokens == 40


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), page=st.sampled_from([1, 4, 16]))
@example(seed=2105, page=1)  # a retracted request is due twice in one step
def test_nothing_leaks(seed: int, page: int) -> None:
    """Arrivals, steps and clients that leave, in any order: all is given back, and all get their output."""
    chance = random.Random(seed)
    engine = EngineModel(replace(SMALL, page_tokens=page, max_running=6))
    live: list[EngineRequest] = []
    ended: dict[EngineRequest, int] = {}
    for _ in range(120):
        action = chance.random()
        if action < 0.3:
            prompt = [chance.randrange(3) for _ in range(chance.randint(1, 150))]
            live.append(request(prompt, output=chance.randint(0, 70), report_every=chance.choice([0, 1, 5])))
            engine.submit(live[-1])
        elif action < 0.4 and live:
            engine.abort(live.pop(chance.randrange(len(live))))
        elif engine.busy:
            step = engine.step(chance.choice([0.0, 0.05]))
            assert step is not None
            for report in step.reports:
                if report.finished:
                    ended[report.request] = report.output_tokens
                    live.remove(report.request)
        assert engine.cache.free_tokens >= 0
    _, reports = drain(engine)
    ended |= {report.request: report.output_tokens for report in reports if report.finished}
    assert engine.cache.held_tokens == 0
    assert engine.cache.evictable_tokens == engine.cache.cached_tokens
    assert set(live) <= set(ended)
    assert all(count == each.output_tokens for each, count in ended.items())
