"""gateway.response_ids: who made which response, bounded in number and time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.response_ids import KEEP_S, Owner, ResponseIds, id_of

NAMES = st.sampled_from(["r1", "r2", "r3", "r4"])
STEPS = st.lists(
    st.tuples(st.booleans(), NAMES, st.sampled_from(["ann", "bob", None]), st.integers(0, 4)), max_size=40
)


def test_an_id_is_found_until_it_has_not_been_used_for_a_while() -> None:
    """Each look counts as use; after keep_s without one it is forgotten."""
    ids = ResponseIds(keep_s=10.0)
    ids.remember("r1", "w1", "ann", 0.0)
    assert ids.owner("r1", 9.0) == Owner("w1", "ann", 0.0)
    assert ids.owner("r1", 18.0) == Owner("w1", "ann", 9.0)
    assert ids.owner("r1", 28.1) is None
    assert (len(ids), ids.owner("r2", 0.0)) == (0, None)


def test_the_longest_unused_makes_room() -> None:
    """At most `limit` ids, however many responses there are; absurdly long ones are not kept."""
    ids = ResponseIds(limit=3)
    for number in range(3):
        ids.remember(f"r{number}", "w", None, float(number))
    ids.owner("r0", 3.0)
    ids.remember("r3", "w", None, 4.0)
    ids.remember("x" * 129, "w", None, 5.0)
    assert [name for name in ("r0", "r1", "r2", "r3") if ids.owner(name, 5.0)] == ["r0", "r2", "r3"]
    assert len(ids) == 3


def test_nobody_takes_over_anothers_id() -> None:
    """An engine that answers two customers with one id does not give one's conversation to the other."""
    ids = ResponseIds()
    ids.remember("r1", "w1", "ann", 0.0)
    ids.remember("r1", "w2", "bob", 1.0)
    assert ids.owner("r1", 2.0) == Owner("w1", "ann", 1.0)
    ids.remember("r1", "w2", "ann", 3.0)
    assert ids.owner("r1", 4.0) == Owner("w2", "ann", 3.0)


@given(STEPS)
def test_an_owner_is_who_was_remembered_first_and_never_anybody_else(steps: list) -> None:
    """Whatever the order of events: the customer of an id does not change while it is known."""
    ids, now, first = ResponseIds(limit=2, keep_s=5.0), 0.0, {}
    for remembers, name, customer, later in steps:
        now += later
        if ids.owner(name, now) is None:
            first.pop(name, None)
        if remembers:
            ids.remember(name, "w", customer, now)
            first.setdefault(name, customer)
        known = ids.owner(name, now)
        assert known is None or known.customer == first[name]
        assert len(ids) <= 2


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        (b'{"id":"resp_1","object":"response","output":[]}', "resp_1"),
        (b'{"id":"chat_1","object":"chat.completion"}', None),
        (b'{"object":"response"}', None),
        (b'{"id":7,"object":"response"}', None),
        (b"[]", None),
        (b"not json", None),
        (b"", None),
        (None, None),
    ],
)
def test_the_id_of_a_whole_answer(answer: bytes | None, name: str | None) -> None:
    """Only a response has one that can be asked for again."""
    assert id_of(answer) == name


def test_an_id_is_kept_for_a_day() -> None:
    """Conversations go on after lunch."""
    ids = ResponseIds()
    ids.remember("r1", "w1", None, 0.0)
    assert ids.owner("r1", KEEP_S - 1) is not None
