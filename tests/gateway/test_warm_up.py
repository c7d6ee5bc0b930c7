"""gateway.warm_up: who is cold, for how long, and whose requests may change that."""

import pytest

from gateway.load import WorkerLoad
from gateway.warm_up import EVERY, LONGEST_S, WarmUps
from prefix.index import WorkerIndex


def worker(kv_capacity: int | None = None) -> WorkerLoad:
    """An empty worker."""
    return WorkerLoad("w", WorkerIndex(100), kv_capacity, 0.0)


@pytest.mark.parametrize(("capacity", "needs"), [(None, 8000), (2000, 2000), (9000, 8000)])
def test_a_worker_is_cold_until_it_is_as_full_as_the_others(capacity: int | None, needs: int) -> None:
    """Or as full as it can be."""
    ups, load = WarmUps(0), worker(capacity)
    ups.begin(load, 8000, 5.0)
    load.dispatch(1, needs // 2, 5.0)
    assert load.coldness(5.0) == 0.5
    load.dispatch(2, needs // 2, 5.0)
    assert load.coldness(5.0) == 0.0


def test_one_request_in_eight_warms_up() -> None:
    """By a lot that depends on seed and number alone; none when nobody is cold."""
    ups, other, load = WarmUps(1), WarmUps(2), worker()
    assert not any(ups.draw(number, 0.0) for number in range(1000))
    ups.begin(load, 8000, 0.0)
    other.begin(worker(), 8000, 0.0)
    drawn = [number for number in range(8000) if ups.draw(number, 0.0)]
    assert len(drawn) == pytest.approx(8000 / EVERY, rel=0.1)
    assert drawn == [number for number in range(8000) if ups.draw(number, 0.0)]
    assert drawn != [number for number in range(8000) if other.draw(number, 0.0)]


def test_it_ends_in_time() -> None:
    """After five minutes nobody is sent there for its own sake, full or not."""
    ups, load = WarmUps(0), worker()
    ups.begin(load, 8000, 100.0)
    assert any(ups.draw(number, 100.0 + LONGEST_S) for number in range(100))
    assert not any(ups.draw(number, 100.1 + LONGEST_S) for number in range(100))
    assert load.cold is None


def test_who_left_is_forgotten_and_who_has_nothing_to_catch_up_with_is_warm() -> None:
    """No lots are drawn for either."""
    ups, gone, first = WarmUps(0), worker(), worker()
    ups.begin(gone, 8000, 0.0)
    ups.forget(gone)
    ups.begin(first, 0, 0.0)
    assert not any(ups.draw(number, 0.0) for number in range(100))
    assert (gone.coldness(0.0), first.coldness(0.0)) == (0.0, 0.0)


def test_a_second_restart_begins_anew() -> None:
    """What it was given before the cache was lost again does not count."""
    ups, load = WarmUps(0), worker()
    ups.begin(load, 8000, 0.0)
    load.dispatch(1, 8000, 0.0)
    ups.begin(load, 4000, 9.0)
    assert load.coldness(9.0) == 1.0
