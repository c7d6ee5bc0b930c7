"""gateway.breaker: who fails requests gets none, whoever is to blame for a request."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.breaker import (
    FORGIVEN_S,
    LEAST_REQUESTS,
    OPEN_MOST_S,
    WINDOW_S,
    Breakers,
    Verdict,
    judge,
)
from tests.cases import case

FLEET = frozenset("abcdef")


def opened(*workers: str, failures: int = 3, open_s: float = 5.0) -> Breakers:
    """Breakers of which these are open since second 0."""
    breakers = Breakers(failures, open_s)
    for worker in workers:
        for _ in range(failures):
            breakers.ended(worker, "fault", 0.0, FLEET)
        assert breakers.state(worker) == "open"
    return breakers


def test_case_44_client_errors_are_not_worker_errors() -> None:
    """A 4xx neither counts nor clears; three faults with 4xx between them open."""
    given_, expected = case(44)["input"], case(44)["expected"]
    breakers = Breakers(given_["breaker"]["open_after_consecutive_failures"])
    states = []
    for status in given_["statuses_from_w1"]:
        breakers.ended("w1", judge(status), 0.0)
        states.append(breakers.state("w1"))
    assert states == expected["state_after_each"]
    assert all(judge(status) == "fault" for status in expected["failures_counted"])
    assert all(judge(status) == "neither" for status in expected["not_counted_and_not_resetting"])


@pytest.mark.parametrize(
    ("status", "verdict"),
    [(200, "ok"), (204, "ok"), (304, "ok"), (408, "neither"), (429, "neither"), (501, "neither"), (504, "fault")],
)
def test_what_a_status_says(status: int, verdict: Verdict) -> None:
    """Of the worker, not of the request."""
    assert judge(status) == verdict


def test_an_open_worker_gets_nothing_and_then_one_request() -> None:
    """Left out until its time has come, then one at a time; its first byte lets the others in."""
    breakers = opened("a")
    assert breakers.usable({"a", "b"}, 4.9) == {"b"}
    assert breakers.usable({"a", "b"}, 5.0) == {"a", "b"}
    assert breakers.state("a") == "half_open"
    breakers.began("a")
    assert breakers.usable({"a", "b"}, 5.0) == {"b"}
    breakers.answered("a")
    assert breakers.state("a") == "closed"
    assert breakers.usable({"a", "b"}, 5.0) == {"a", "b"}


def test_a_probe_that_answers_and_then_breaks_opens_again() -> None:
    """Fewer faults in a row are enough until it has succeeded once; afterwards it takes as many as before."""
    breakers = opened("a")
    breakers.usable({"a"}, 5.0)
    breakers.began("a")
    breakers.answered("a")
    faults = [breakers.ended("a", "fault", 6.0) for _ in range(breakers.failures)]
    assert faults.index("open") + 1 == breakers.failures - breakers.failures // 2
    breakers = opened("a")
    breakers.usable({"a"}, 5.0)
    breakers.began("a")
    assert breakers.ended("a", "ok", 6.0) == "closed"
    assert [breakers.ended("a", "fault", 7.0) for _ in range(3)] == [None, None, "open"]


def test_a_probe_whose_client_leaves_says_nothing() -> None:
    """The next request is the probe then."""
    breakers = opened("a")
    breakers.usable({"a", "b"}, 5.0)
    breakers.began("a")
    assert breakers.ended("a", "neither", 5.5) is None
    assert breakers.usable({"a", "b"}, 5.5) == {"a", "b"}


def closes_at(breakers: Breakers, since: float) -> float:
    """When the open worker may be tried, to a tenth of a second."""
    times = [since + tenth / 10 for tenth in range(1, 1000)]
    return next(now for now in times if "a" in breakers.usable({"a", "b"}, now)) - since


def test_it_is_left_alone_longer_each_time() -> None:
    """5, 10, 20, 40 s, a minute at most; after a long good time it starts again."""
    breakers, now, waits = opened("a"), 0.0, []
    for _ in range(6):
        waits.append(closes_at(breakers, now))
        now += waits[-1]
        breakers.began("a")
        assert breakers.ended("a", "fault", now) == "open"
    assert waits == pytest.approx([5, 10, 20, 40, OPEN_MOST_S, OPEN_MOST_S])
    now += OPEN_MOST_S
    breakers.usable({"a", "b"}, now)
    breakers.ended("a", "ok", now)
    now += FORGIVEN_S
    for _ in range(3):
        breakers.ended("a", "fault", now)
    assert closes_at(breakers, now) == pytest.approx(5)


def test_a_success_while_it_is_open_lets_it_be_tried_at_once() -> None:
    """An answer that began before, or was let in because all were open."""
    breakers = opened("a")
    assert breakers.ended("a", "ok", 1.0) is None
    assert breakers.usable({"a", "b"}, 1.0) == {"a", "b"}
    assert breakers.state("a") == "half_open"


def test_when_all_are_open_the_least_bad_serve() -> None:
    """One client whose requests break every engine does not shut the fleet."""
    breakers = opened("a", "b", "c")
    assert breakers.usable({"a", "b", "c"}, 1.0) == {"a", "b", "c"}
    breakers.ended("b", "fault", 1.0)
    assert breakers.usable({"a", "b", "c"}, 1.0) == {"a", "c"}
    assert breakers.usable(frozenset(), 1.0) == frozenset()


def rates(breakers: Breakers, bad: dict[str, int], now: float = 0.0) -> set[str]:
    """Each worker ends 40 requests, every n-th with a fault (0: none), in turns; those open afterwards."""
    for number in range(40):
        for worker in sorted(FLEET):
            every = bad.get(worker, 0)
            breakers.ended(worker, "fault" if every and number % every == 0 else "ok", now, FLEET)
    return {worker for worker in FLEET if breakers.state(worker) == "open"}


def test_an_outlier_is_ejected() -> None:
    """Half of its requests fail, never two in a row, the others' do not: it is left out."""
    assert rates(Breakers(), {"a": 2}) == {"a"}


@pytest.mark.parametrize(
    "bad",
    [
        {"a": 10},
        dict.fromkeys(FLEET, 2),
        dict.fromkeys("abcd", 2),
    ],
)
def test_who_is_no_outlier(bad: dict[str, int]) -> None:
    """One that fails now and then; one that is as bad as the others."""
    assert rates(Breakers(), bad) == set()


def test_a_third_of_the_fleet_at_most_is_ejected_by_rate() -> None:
    """Two of six, whatever the rates."""
    breakers = Breakers()
    for number in range(200):
        worker = "abc"[number % 3]
        for other in "def":
            for _ in range(10):
                breakers.ended(other, "ok", 0.0, FLEET)
        breakers.ended(worker, "fault" if number // 3 % 2 else "ok", 0.0, FLEET)
    assert sum(breakers.state(worker) == "open" for worker in FLEET) == 2


def test_a_lone_worker_is_compared_with_nobody() -> None:
    """Half of its requests fail: it is all there is."""
    breakers = Breakers()
    for number in range(100):
        breakers.ended("a", "fault" if number % 2 else "ok", 0.0, {"a"})
    assert breakers.state("a") == "closed"


def test_old_faults_are_forgotten() -> None:
    """A rate is of the last windows only, and of enough requests."""
    breakers = Breakers()
    for _ in range(4):
        breakers.ended("a", "fault", 0.0, FLEET)
    rates(breakers, {}, now=3 * WINDOW_S)
    assert breakers.ended("a", "fault", 3 * WINDOW_S, FLEET) is None
    breakers = Breakers()
    for number in range(LEAST_REQUESTS - 1):
        breakers.ended("a", "fault" if number % 2 else "ok", 0.0, FLEET)
    assert breakers.state("a") == "closed"


def test_another_process_begins_anew_and_one_taken_out_is_forgotten() -> None:
    """But one that is opened again soon after is left alone for longer."""
    breakers = opened("a", "b")
    breakers.renew("a")
    breakers.renew("nobody")
    breakers.forget("b")
    assert (breakers.state("a"), breakers.state("b")) == ("closed", "closed")
    for _ in range(3):
        breakers.ended("a", "fault", 1.0)
        breakers.ended("b", "fault", 1.0)
    assert breakers.usable({"a", "b", "c"}, 6.5) == {"b", "c"}


WHAT: list[Verdict | str] = ["began", "answered", "ok", "fault", "neither"]
STEPS = st.tuples(st.sampled_from("abc"), st.sampled_from(WHAT))


@given(st.lists(st.tuples(STEPS, st.floats(0, 20))))
def test_there_is_always_somebody_to_ask(steps: list[tuple[tuple[str, str], float]]) -> None:
    """Whatever happened, a non-empty set of workers has a non-empty set that may be used."""
    breakers, now = Breakers(2, 1.0), 0.0
    for (worker, what), passed in steps:
        now += passed
        usable = breakers.usable({"a", "b", "c"}, now)
        assert usable
        assert usable <= {"a", "b", "c"}
        if what == "began":
            breakers.began(worker)
        elif what == "answered":
            breakers.answered(worker)
        else:
            breakers.ended(worker, what, now, {"a", "b", "c"})


def test_a_burst_has_its_faults_first() -> None:
    """Faults end sooner than answers: in a row they open a breaker only when they are many of what is in flight."""
    breakers = Breakers()
    assert [breakers.ended("a", "fault", 0.0, in_flight=200 - n) for n in range(30)] == [None] * 30
    assert breakers.state("a") == "closed"
    assert "open" in [breakers.ended("a", "fault", 0.0, in_flight=170 - n) for n in range(10)]
