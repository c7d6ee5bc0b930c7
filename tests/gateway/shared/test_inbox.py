"""gateway.shared.inbox and outbox: replicas that hear each other are as one, and hear nothing twice."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.limits import NO_LIMITS, Limiter, Limits
from gateway.models import ModelGroup, Models
from gateway.router import Route
from gateway.shared.inbox import GONE_S, Inbox
from gateway.shared.messages import VERSION, Batch, Decision, Learned, Message, Spent, encode
from gateway.shared.outbox import Outbox

BLOCKS = list(range(100, 120))


class Here:
    """One replica without a network: two workers of one model, an outbox, an inbox. heard: decisions."""

    def __init__(self, own: str, limits: Limits = NO_LIMITS) -> None:
        self.outbox = Outbox(own)
        self.models = Models("expected-ttft")
        self.models.told = self.outbox
        for worker in ("w1", "w2"):
            self.models.join(worker, ("m",), 100_000, 0.0)
        self.limiter = Limiter()
        self.limiter.configure(limits, {})
        self.limiter.share()
        self.heard: list[Decision] = []
        self.greeted = self.asked = 0
        self.inbox = Inbox(own, self.models, self, self.limiter, self.greet, self.ask)

    def learn(self, decision: Decision) -> None:
        self.heard.append(decision)

    def greet(self) -> None:
        self.greeted += 1

    def ask(self) -> None:
        self.asked += 1

    @property
    def group(self) -> ModelGroup:
        group = self.models.named("m")
        assert group is not None
        return group

    def place(self, now: float, blocks: list[int] = BLOCKS) -> Route:
        names = frozenset(("w1", "w2"))
        return self.group.place(blocks, 2600, now, max_output_tokens=8, candidates=names, session=None)

    def say(self, now: float) -> bytes:
        """The next batch, acknowledged."""
        for spent in self.limiter.spending():
            self.outbox.tell(Spent(now, *spent))
        batch = self.outbox.seal(now)
        self.outbox.acknowledge()
        return batch

    @property
    def believes(self) -> dict[str, Any]:
        router = self.group.router
        return {
            "computed": router.computed_blocks(BLOCKS),
            "held": router.holdings(),
            "in_flight": {name: load.in_flight for name, load in router._loads.items()},
            "assigned": {name: load.assigned for name, load in router._loads.items()},
        }


def test_a_request_elsewhere_is_one_here() -> None:
    """Placed, first token, end: after each, both believe the same of every worker."""
    a, b = Here("a"), Here("b")
    route = a.place(1.0)
    b.inbox.apply(a.say(1.0), 1.0)
    assert a.believes == b.believes
    assert b.believes["in_flight"][route.worker] == 1
    a.group.first_token(route, 1.2)
    b.inbox.apply(a.say(1.2), 1.2)
    assert a.believes == b.believes
    a.group.release(route, 1.5, cached_tokens=0, output_tokens=8)
    b.inbox.apply(a.say(1.5), 1.5)
    assert a.believes == b.believes
    assert b.believes["computed"][route.worker] == len(BLOCKS)
    assert b.place(2.0).worker == route.worker


@settings(max_examples=30)
@given(st.lists(st.booleans(), min_size=12, max_size=12))
def test_what_was_missed_is_made_good(arrives: list[bool]) -> None:
    """Whatever batches get lost, a gap is asked about, and what is open is told: nothing stays in flight for ever."""
    a, b = Here("a"), Here("b")
    b.inbox.apply(a.say(0.0), 0.0)
    routes = []
    for step, here in enumerate(arrives):
        if step % 3 == 2:
            a.group.release(routes.pop(0), float(step), cached_tokens=None, output_tokens=1)
        else:
            routes.append(a.place(float(step), [step * 10 + n for n in range(5)]))
        batch = a.say(float(step))
        if here:
            b.inbox.apply(batch, float(step))
    b.inbox.apply(a.say(20.0), 20.0)
    assert bool(b.asked) is not all(arrives)
    a.outbox.tell_open()
    b.inbox.apply(a.say(21.0), 21.0)
    assert b.believes["in_flight"] == a.believes["in_flight"]


@settings(max_examples=30)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=12))
def test_what_is_heard_twice_counts_once(order: list[int]) -> None:
    """Batches repeated in any way, as long as new ones are in order, leave what hearing each once leaves."""
    a, once, often = Here("a"), Here("b"), Here("c")
    batches: list[bytes] = []
    for nth in range(6):
        route = a.place(float(nth), list(range(nth * 7, nth * 7 + 9)))
        if nth % 2:
            a.group.release(route, nth + 0.5, cached_tokens=None, output_tokens=4)
        batches.append(a.say(nth + 0.5))
    for batch in batches:
        once.inbox.apply(batch, 10.0)
        often.inbox.apply(batch, 10.0)
        for again in order:
            if again <= batches.index(batch):
                often.inbox.apply(batches[again], 10.0)
    assert once.believes == often.believes
    assert often.inbox.repeated == sum(again <= nth for nth in range(6) for again in order)
    assert often.inbox.missed == 0


def test_own_words_and_missing_batches() -> None:
    """What comes back from itself is nothing; batches that never came are counted."""
    a, b = Here("a"), Here("b")
    a.place(0.0)
    first = a.say(0.0)
    assert a.inbox.apply(first, 0.0) is None
    b.inbox.apply(first, 0.0)
    a.say(1.0)
    a.say(2.0)
    b.inbox.apply(a.say(3.0), 3.0)
    assert (b.inbox.missed, b.inbox.repeated) == (2, 0)


def test_a_batch_is_the_same_until_it_arrived() -> None:
    """One whose fate is unknown is sent again under its number, then the next; the oldest that wait are dropped."""
    box = Outbox("a", most_waiting=3)
    for nth in range(5):
        box.tell(Learned("m", nth, 1.0, {}))
    assert (len(box), box.dropped) == (3, 2)
    first = box.seal(0.0)
    box.tell(Learned("m", 9, 1.0, {}))
    assert box.seal(5.0) == first
    box.acknowledge()
    assert box.told == 3
    assert box.seal(6.0) != first


def test_a_replica_that_ended_has_nothing_open() -> None:
    """Silent for long, or with a word: its requests are over here; told anew, they are open again."""
    a, b = Here("a"), Here("b")
    a.place(0.0)
    b.inbox.apply(a.say(0.0), 0.0)
    b.inbox.forget_silent(GONE_S - 1)
    assert sum(b.believes["in_flight"].values()) == 1
    b.inbox.forget_silent(GONE_S + 1)
    assert sum(b.believes["in_flight"].values()) == 0
    assert not b.inbox.peers
    a.outbox.tell_open()
    b.inbox.apply(a.say(20.0), 20.0)
    a.outbox.tell_open()
    b.inbox.apply(a.say(21.0), 21.0)
    assert sum(b.believes["in_flight"].values()) == 1


def test_what_was_learned_from_more_stands() -> None:
    """Ratios are taken from who saw more, never from who saw less."""
    here = Here("b")
    for observations, ratio, expected in ((10, 3.0, 3.0), (5, 2.0, 3.0), (11, 5.0, 5.0), (12, 1e9, 16.0)):
        message: Message = Learned("m", observations, ratio, {"w1": 0.5, "gone": 2.0})
        batch = Batch(VERSION, "a", observations if observations != 5 else 10, 0.0, [message])
        here.inbox.apply(encode(batch), 0.0)
        assert here.group.bytes_per_token == expected
    assert here.group.router.scales == {"w1": 0.5, "w2": 1.0}


@pytest.mark.parametrize("delay_s", [0.0, 0.02, 0.3])
@pytest.mark.parametrize("count", [2, 4])
def test_limits_hold_over_all_replicas(count: int, delay_s: float) -> None:
    """Flooded through every replica, a customer gets what one gateway would admit, and (n - 1) times a full bucket
    and what it gains in the delay, once; the rate in the long run is the configured one."""
    rate, burst, seconds, step = 10.0, 5, 20.0, 0.005
    here = [Here(str(nth), Limits(requests_per_s=rate, burst=burst)) for nth in range(count)]
    on_the_way: list[tuple[float, Here, bytes]] = []
    admitted: list[float] = []
    for tick in range(int(seconds / step)):
        now = tick * step
        while on_the_way and on_the_way[0][0] <= now:
            _, sender, batch = on_the_way.pop(0)
            for each in here:
                if each is not sender:
                    each.inbox.apply(batch, now, delay_s=delay_s)
        for each in here:
            lease = each.limiter.enter("acme", now)
            assert lease is not None
            if lease.refused is None:
                admitted.append(now)
                lease.leave(0, now)
                on_the_way.append((now + delay_s, each, each.say(now)))
    bound = burst + rate * seconds + (count - 1) * (burst + rate * (delay_s + step))
    assert len(admitted) <= bound
    later = [at for at in admitted if at >= seconds / 2]
    assert len(later) <= rate * seconds / 2 + count * (1 + rate * (delay_s + step))
    assert len(admitted) >= rate * seconds * 0.9


def test_concurrency_is_counted_over_all() -> None:
    """What a customer has open elsewhere counts here, until it ends there, or the replica does."""
    a, b = Here("a", Limits(max_concurrent=2)), Here("b", Limits(max_concurrent=2))
    first, second = a.limiter.enter("acme", 0.0), a.limiter.enter("acme", 0.0)
    assert first is not None
    assert second is not None
    b.inbox.apply(a.say(0.0), 0.0)
    refused = b.limiter.enter("acme", 0.1)
    assert refused is not None
    assert refused.refused is not None
    first.leave(0, 0.2)
    b.inbox.apply(a.say(0.2), 0.2)
    lease = b.limiter.enter("acme", 0.3)
    assert lease is not None
    assert lease.refused is None
    b.inbox.forget_silent(GONE_S + 1)
    again = b.limiter.enter("acme", 12.0)
    assert again is not None
    assert again.refused is None
