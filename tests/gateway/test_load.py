"""gateway.load: a worker's queue, its room, and what its engine reports."""

import msgspec
import pytest

from gateway.load import DRAIN, FRESH_S, SCALE_LEAST, SCALE_MOST, Ask, Cold, Report, WorkerLoad
from gateway.policies import Candidate
from prefix.index import WorkerIndex

RATE = 1000.0


def worker(kv_capacity: int | None = None, index_blocks: int = 1000) -> WorkerLoad:
    """An idle worker at time 0."""
    return WorkerLoad("w", WorkerIndex(index_blocks), kv_capacity, 0.0)


def ask(now: float = 0.0, blocks: tuple[int, ...] = (), prompt_tokens: int = 1000) -> Ask:
    """A request of 1,000 tokens that needs 1,200 tokens of memory, blocks of 100."""
    return Ask(blocks, prompt_tokens, 1200.0, 200.0, 100.0, RATE, now)


def view(load: WorkerLoad, now: float = 0.0) -> Candidate:
    return load.candidate(ask(now))


def test_only_the_oldest_request_drains() -> None:
    """The prefill under way is partly done, at 0.7 of the rate, and never more than all of it."""
    load = worker()
    load.dispatch(1, 500, 10.0)
    load.dispatch(2, 3000, 10.1)
    for now, done in ((10.0, 0), (10.5, DRAIN * 500), (11.0, 500), (99.0, 500), (9.0, 0)):
        assert view(load, now).wait == pytest.approx(3500 - done)
        assert view(load, now).pending == 3500
    load.settle(1, 10.6)
    assert view(load, 10.6).wait == 3000
    assert view(load, 11.6).wait == pytest.approx(3000 - DRAIN * 1000)


def test_settling_is_idempotent_in_any_order() -> None:
    """First tokens may arrive out of order and twice; the queue is empty in the end."""
    load = worker()
    for number, uncached in ((1, 10), (2, 20), (3, 30)):
        load.dispatch(number, uncached, 0.0)
    for number, left in ((2, 40), (2, 40), (9, 40), (1, 30), (3, 0)):
        load.settle(number, 1.0)
        assert load.pending_tokens == left
    assert view(load, 5.0).wait == 0.0
    assert (load.assigned, load.last_routed, load.in_flight) == (60, 3, 3)


def test_memory_counts_distinct_blocks_once() -> None:
    """Blocks that are in flight already cost no more memory; the request's own and all outputs do."""
    load = worker(kv_capacity=90_000)
    load.index.pin([1, 2, 3, 4], 0)
    load.dispatch(1, 400, 0.0)
    seen = load.candidate(ask(blocks=(1, 2, 3, 9, 10)))
    assert seen.kv_tokens == 1200 + (4 - 3) * 100 + 200
    assert (seen.known_blocks, seen.pinned_blocks, seen.overlap, seen.uncached) == (3, 3, 150, 850)
    assert seen.kv_capacity == 90_000


def test_a_report_counts_beyond_our_own() -> None:
    """What the engine shows beyond our count is added, drains like our own work and is forgotten after 10 s."""
    load = worker()
    load.dispatch(1, 1000, 0.0)
    own = view(load, 1.0)
    load.observe(Report(1.0, 5000, 4, 10_000), own_kv_tokens=2000.0, prefill_rate=RATE)
    seen = view(load, 1.0)
    foreign = 5000 - own.wait
    assert (seen.wait, seen.pending) == (own.wait + foreign, own.pending + foreign)
    assert (seen.in_flight, seen.kv_tokens) == (own.in_flight + 3, own.kv_tokens + 8000)
    assert view(load, 3.0).wait == pytest.approx(load.own_wait(3.0, RATE) + foreign - DRAIN * 2000)
    assert view(load, 1.0 + FRESH_S).in_flight == 4
    assert view(load, 1.1 + FRESH_S).in_flight == 1


def test_a_report_below_our_own_changes_nothing() -> None:
    """Requests on their way are in no report yet; garbage below zero is no evidence either."""
    load = worker()
    load.dispatch(1, 1000, 0.0)
    before = view(load, 0.5)
    for waiting in (0, -7):
        load.observe(Report(0.5, waiting, waiting, waiting), own_kv_tokens=0.0, prefill_rate=RATE)
        assert view(load, 0.5) == before


def test_room_is_what_requests_in_flight_leave() -> None:
    """Capacity less expected outputs, less pinned blocks; unknown: the worker's share of the index."""
    load = worker(kv_capacity=5000)
    assert load.room_blocks(200.0, 100.0) == 50
    load.index.pin([1, 2, 3], 0)
    load.dispatch(1, 300, 0.0)
    assert load.room_blocks(200.0, 100.0) == 45
    load.rescale(0.5)
    assert load.room_blocks(200.0, 100.0) == 20
    assert load.room_blocks(1e9, 100.0) == 0
    assert worker(index_blocks=70).room_blocks(200.0, 100.0) == 70


def test_corrections_have_limits() -> None:
    """A capacity is believed between 1/16 and 4 times the known one, an unknown one never beyond the index."""
    for capacity, most in ((5000, SCALE_MOST), (None, 1.0)):
        load = worker(kv_capacity=capacity)
        for factor, limit in ((1.5, most), (0.5, SCALE_LEAST)):
            for _ in range(20):
                load.rescale(factor)
            assert load.scale == limit


def test_a_cold_worker_warms_with_what_it_is_given() -> None:
    """From 1 to 0 over the tokens it lacks, or until the time is over; seen only by requests that warm up."""
    load = worker()
    load.dispatch(1, 5000, 0.0)
    assert load.coldness(0.0) == 0.0
    load.cold = Cold(5000, 4000, 60.0)
    assert (load.coldness(0.0), view(load).cold) == (1.0, 0.0)
    load.dispatch(2, 1000, 0.0)
    assert load.candidate(msgspec.structs.replace(ask(60.0), warming=True)).cold == 0.75
    assert load.coldness(60.1) == 0.0
    load.dispatch(3, 9000, 0.0)
    assert load.coldness(0.0) == 0.0


def test_full_means_evicting() -> None:
    """Only an index that fills its room can be wrong about evictions."""
    load = worker(kv_capacity=1000)
    assert not load.full(0.0, 100.0)
    run, _ = load.index.pin(list(range(9)), 0)
    load.index.unpin(run, computed=True)
    assert load.full(0.0, 100.0)
    load.trim(0.0, 300.0)
    assert load.index.cached == 3
