"""gateway.limits: token buckets that admit what they should, owe what was used, and count everything once."""

import math

from hypothesis import given
from hypothesis import strategies as st

from gateway.limits import Lease, Limiter, Limits

REQUESTS = Limits(requests_per_s=2, burst=4)
TOKENS = Limits(tokens_per_min=600)


def limiter(default: Limits, **customers: Limits) -> Limiter:
    """A limiter with these limits."""
    made = Limiter()
    made.configure(default, customers)
    return made


def entered(limits: Limiter, now: float, customer: str = "acme") -> Lease:
    """A request that is limited."""
    lease = limits.enter(customer, now)
    assert lease is not None
    return lease


def test_without_limits_nothing_is_counted() -> None:
    """No lease, no account."""
    limits = limiter(Limits())
    assert limits.enter("acme", 0) is None
    assert len(limits) == 0


def test_a_burst_then_the_rate() -> None:
    """Four at once, then one each half second; who is refused is told when."""
    limits = limiter(REQUESTS)
    assert [entered(limits, 0).refused for _ in range(4)] == [None] * 4
    refused = entered(limits, 0.1).refused
    assert refused is not None
    assert (refused.kind, round(refused.retry_after_s, 3)) == ("requests", 0.4)
    assert entered(limits, 0.1 + refused.retry_after_s).refused is None
    assert entered(limits, 0.6).refused is not None
    assert [entered(limits, 100).refused is None for _ in range(5)] == [True] * 4 + [False]


def test_a_rate_below_one_a_second_has_a_bucket_of_one() -> None:
    """One at once, whatever the rate."""
    limits = limiter(Limits(requests_per_s=0.1))
    assert entered(limits, 0).refused is None
    refused = entered(limits, 0).refused
    assert refused is not None
    assert round(refused.retry_after_s) == 10


def test_tokens_are_estimated_then_corrected() -> None:
    """The estimate is taken at once; the end gives back or takes what it was wrong by, into debt if need be."""
    limits = limiter(TOKENS)
    first = entered(limits, 0)
    assert first.charge(500, 0) is None
    refused = entered(limits, 0).charge(200, 0)
    assert refused is not None
    assert (refused.kind, refused.limit, round(refused.retry_after_s)) == ("tokens", "600 tokens/min", 10)
    first.leave(100, 0)  # of the 500
    second = entered(limits, 0)
    assert second.charge(500, 0) is None
    second.leave(1100, 0)  # 600 more than believed
    assert second.standings()[0].remaining == 0
    late = entered(limits, 60)
    assert late.charge(1, 59) is not None or late.charge(1, 60) is None
    assert entered(limits, 200).charge(600, 200) is None


def test_a_request_larger_than_the_bucket_waits_for_a_full_one() -> None:
    """It is not refused for ever."""
    limits = limiter(TOKENS)
    assert entered(limits, 0).charge(5000, 0) is None
    refused = entered(limits, 0).charge(5000, 0)
    assert refused is not None
    assert entered(limits, refused.retry_after_s).charge(5000, refused.retry_after_s) is None


def test_concurrency_is_what_is_open() -> None:
    """A place is free again once its holder has left, and leaving twice frees one place."""
    limits = limiter(Limits(max_concurrent=2))
    one, two = entered(limits, 0), entered(limits, 0)
    third = entered(limits, 0)
    assert third.refused is not None
    assert third.refused.kind == "concurrency"
    third.leave(0, 0)  # it held no place
    one.leave(0, 1)
    one.leave(0, 1)
    assert entered(limits, 1).refused is None
    assert entered(limits, 1).refused is not None
    two.leave(0, 2)


def test_a_refusal_for_concurrency_costs_no_request() -> None:
    """Waiting for a place does not eat the rate."""
    limits = limiter(Limits(requests_per_s=1, burst=2, max_concurrent=1))
    one = entered(limits, 0)
    assert entered(limits, 0).refused is not None
    one.leave(0, 0)
    assert entered(limits, 0).refused is None


def test_customers_have_their_own() -> None:
    """A customer's limits take the place of the default ones, and no customer uses up another's."""
    limits = limiter(Limits(requests_per_s=1), big=Limits(requests_per_s=100), free=Limits())
    assert entered(limits, 0).refused is None
    assert entered(limits, 0).refused is not None
    assert entered(limits, 0, "other").refused is None
    assert [entered(limits, 0, "big").refused for _ in range(50)] == [None] * 50
    assert limits.enter("free", 0) is None


def test_new_limits_keep_what_is_open() -> None:
    """A reload neither closes nor forgets running requests."""
    limits = limiter(Limits(max_concurrent=1))
    running = entered(limits, 0)
    limits.configure(Limits(max_concurrent=2), {})
    assert entered(limits, 0).refused is None
    assert entered(limits, 0).refused is not None
    running.leave(0, 0)
    assert entered(limits, 0).refused is None


def test_memory_is_bounded() -> None:
    """However many customers come, the latest are remembered."""
    limits = Limiter(most=10)
    limits.configure(Limits(requests_per_s=1), {})
    for n in range(1000):
        entered(limits, 0, f"c{n}")
        assert len(limits) <= 10
    assert entered(limits, 0, "c999").refused is not None


EVENTS = st.lists(st.tuples(st.floats(0, 5), st.integers(0, 400), st.integers(0, 600)), min_size=1, max_size=60)


@given(rate=st.floats(0.2, 20), burst=st.integers(1, 20), gaps=st.lists(st.floats(0, 3), min_size=1, max_size=80))
def test_never_more_requests_than_burst_and_rate(rate: float, burst: int, gaps: list[float]) -> None:
    """In any window of t seconds at most burst + rate * t are admitted."""
    limits = limiter(Limits(requests_per_s=rate, burst=burst))
    now, admitted = 0.0, []
    for gap in gaps:
        now += gap
        if entered(limits, now).refused is None:
            admitted.append(now)
    for first, start in enumerate(admitted):
        for last in range(first, len(admitted)):
            assert last - first + 1 <= burst + rate * (admitted[last] - start) + 1e-6


@given(events=EVENTS)
def test_tokens_are_conserved(events: list[tuple[float, int, int]]) -> None:
    """Never more is left than a full bucket, and never more was used than a bucket, the rate and one debt."""
    limits = limiter(TOKENS)
    now, used_all, largest = 0.0, 0, 0
    for gap, estimate, used in events:
        now += gap
        lease = entered(limits, now)
        if lease.charge(estimate, now) is None:
            used_all += used
            largest = max(largest, used)
            lease.leave(used, now)
            lease.leave(used, now)
        standing = lease.standings()[0]
        assert 0 <= standing.remaining <= standing.limit == 600
        assert standing.reset_s >= 0
    assert used_all <= 600 + 10 * now + largest + 1e-6


@given(opens=st.lists(st.booleans(), max_size=60), most=st.integers(1, 5))
def test_places_are_counted_exactly(opens: list[bool], most: int) -> None:
    """Whatever comes and goes, at most so many are open, and none is lost."""
    limits = limiter(Limits(max_concurrent=most))
    held: list[Lease] = []
    for opening in opens:
        if opening:
            lease = entered(limits, 0)
            assert (lease.refused is None) == (len(held) < most)
            held += [lease] if lease.refused is None else []
        elif held:
            held.pop().leave(0, 0)
    for lease in held:
        lease.leave(0, 0)
    assert [entered(limits, math.pi).refused for _ in range(most)] == [None] * most
