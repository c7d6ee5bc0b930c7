"""gateway.flight: what first tokens and ends of requests teach."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.flight import GROW, PREFILL_RATE, PREFILL_RATE_LEAST, PREFILL_RATE_MOST, SHRINK, Flight, Means, Route
from gateway.load import Ask, WorkerLoad
from prefix.index import WorkerIndex

BLOCK = 100.0


def depart(load: WorkerLoad, blocks: list[int], now: float = 0.0) -> Flight:
    """A request of these blocks is routed to the worker."""
    ask = Ask(blocks, len(blocks) * 100 + 5, 1000.0, 256.0, BLOCK, PREFILL_RATE, now)
    chosen = load.candidate(ask)
    return Flight(
        Route(load.name, chosen.overlap, chosen.overlap, "affinity", load.last_routed + 1), load, ask, chosen
    )


def land(flight: Flight, cached: int | None, output: int = 10, tail: tuple[int, ...] = ()) -> None:
    """The request ends after 3 s."""
    flight.end(3.0, Means(), BLOCK, cached, output, tail)


@pytest.fixture
def load() -> WorkerLoad:
    """A worker with room for 100 blocks that holds blocks 0..39."""
    load = WorkerLoad("w", WorkerIndex(1000), 10_000, 0.0)
    land(depart(load, list(range(40))), None)
    return load


@pytest.mark.parametrize(
    ("cached", "scale"),
    [(4000, 1.0), (3800, 1.0), (3799, SHRINK), (0, SHRINK), (None, 1.0), (-1, 1.0), (10**9, 1.0)],
)
def test_a_missing_hit_shrinks_the_capacity(load: WorkerLoad, cached: int | None, scale: float) -> None:
    """Only more than 2 blocks and 5 % of the prompt short of the prediction is evidence."""
    land(depart(load, list(range(40))), cached)
    assert load.scale == scale


def test_what_was_in_flight_is_no_evidence(load: WorkerLoad) -> None:
    """Two requests of one batch both compute the prefix that they share, so missing it teaches nothing."""
    first, second = depart(load, list(range(60))), depart(load, list(range(60)))
    land(second, 0)
    assert load.scale == 1.0
    land(first, 0)
    assert load.scale == SHRINK


def test_more_than_predicted_grows_a_full_index_only(load: WorkerLoad) -> None:
    """Hits that the index did not expect say something about the capacity only once it evicts."""
    land(depart(load, list(range(100, 140))), 4000)
    assert load.scale == 1.0
    land(depart(load, list(range(200, 240))), 0)
    land(depart(load, list(range(300, 340))), 4000)
    assert load.scale == GROW


def test_exact_indexes_are_not_corrected(load: WorkerLoad) -> None:
    """A worker with KV events tells itself what it evicts."""
    load.index.store([])
    land(depart(load, list(range(40))), 0)
    assert load.scale == 1.0


@pytest.mark.parametrize(
    ("first_token", "cached", "output", "known"),
    [(True, None, 0, 10), (False, None, 5, 10), (False, 0, 0, 10), (False, None, 0, 0), (False, -1, 0, 0)],
)
def test_computed_by_any_evidence(first_token: bool, cached: int | None, output: int, known: int) -> None:
    """A first token, output or a report shows that the prompt was computed; without one its blocks are forgotten."""
    load = WorkerLoad("w", WorkerIndex(100), None, 0.0)
    flight = depart(load, list(range(10)))
    if first_token:
        flight.first_token(1.0, Means())
    land(flight, cached, output)
    assert load.index.match(list(range(10)))[0] == known
    assert load.in_flight == load.pending_tokens == 0


def test_a_prompt_beyond_the_index_keeps_its_beginning() -> None:
    """Only as many leading blocks as fit are pinned, and the response of such a prompt is not held behind the gap."""
    load = WorkerLoad("w", WorkerIndex(6), None, 0.0)
    failed, long = depart(load, [7, 8, 9, 10]), depart(load, [0, 1, 2, 3])
    land(failed, None, 0)
    land(long, 0, tail=(4, 5))
    assert load.index.match([0, 1, 2, 3]) == (2, 2, 0)
    assert load.index.match([0, 1, 4, 5]) == (2, 2, 0)


def test_requests_side_by_side_are_one_miss(load: WorkerLoad) -> None:
    """Of two requests for one lost prompt in flight together, only the first was a prediction from the LRU."""
    both = [depart(load, list(range(40))) for _ in range(2)]
    for flight in both:
        land(flight, 0)
    assert load.index.match(list(range(40)))[0] == 40
    land(depart(load, list(range(40))), 0)
    assert load.index.match(list(range(40)))[0] == 0


def test_a_reset_worker_learns_nothing(load: WorkerLoad) -> None:
    """What was predicted before the restart is no evidence against the worker's capacity."""
    flight = depart(load, list(range(40)))
    load.index = WorkerIndex(1000)
    land(flight, 0)
    assert (load.scale, len(load.index)) == (1.0, 0)


def test_means_begin_with_a_guess_and_follow() -> None:
    """The guess weighs one request at first; later each request weighs 2 %."""
    means = Means()
    means.learn_end(100, 2.0)
    assert (means.output_tokens, means.decode_s) == ((256 + 100) / 2, (8 + 2) / 2)
    for _ in range(400):
        means.learn_end(40, None)
    assert means.output_tokens == pytest.approx(40, abs=1)
    assert means.decode_s == 5.0
    before = means.output_tokens
    means.learn_end(1040, None)
    assert means.output_tokens - before == pytest.approx(20, abs=0.1)


def test_how_busy_the_fleet_is_is_learned_slowly() -> None:
    """From a half, by one part in a hundred for each arrival: a burst moves it, one request hardly does."""
    means = Means()
    means.learn_busy(1.0)
    assert means.busy == pytest.approx(0.505)
    for share in (1.0, 0.0):
        for _ in range(500):
            means.learn_busy(share)
        assert means.busy == pytest.approx(share, abs=0.01)


def test_the_prefill_rate_is_learned_from_first_tokens() -> None:
    """Tokens between first tokens by the time between them, whatever the batches; the first call only."""
    means, load = Means(), WorkerLoad("w", WorkerIndex(10_000), None, 0.0)
    assert means.prefill_rate == PREFILL_RATE
    now = 0.0
    for i in range(300):
        batch = [depart(load, [hash((i, k, n)) for n in range(20)], now) for k in range(3)]
        now += 3 * 2005 / 500
        for flight in batch:
            flight.first_token(now, means)
            flight.first_token(now + 1, means)
            land(flight, None)
    assert means.prefill_rate == pytest.approx(500, rel=0.05)


@given(st.lists(st.tuples(st.integers(1, 10**6), st.sampled_from([0.0, 1e-9, 0.1, 1e5])), max_size=60))
def test_the_rate_stays_within_limits(samples: list[tuple[int, float]]) -> None:
    """Engines that answer at once and clocks that stand still give no rate without bounds."""
    means = Means()
    for tokens, busy_s in samples * 30:
        means.learn_prefill(tokens, busy_s)
        assert PREFILL_RATE_LEAST <= means.prefill_rate <= PREFILL_RATE_MOST
