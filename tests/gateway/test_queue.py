"""gateway.queue: first come first served within a customer, fair between customers, never more than its capacity."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.queue import QUANTUM, FairQueue


def emptied(queue: FairQueue[str]) -> list[str]:
    """Everything in the queue, in its order."""
    order = []
    while (entry := queue.pop()) is not None:
        order.append(entry)
    return order


def filled(lines: dict[str, list[int]], capacity: int = 1000) -> FairQueue[str]:
    """A queue with these customers' entries, of so many tokens each; the first customer's come first."""
    queue: FairQueue[str] = FairQueue(capacity)
    for customer, sizes in lines.items():
        for number, tokens in enumerate(sizes):
            assert queue.push(customer, f"{customer}{number}", tokens) is None
    return queue


def test_one_customer_is_served_in_order() -> None:
    """Whatever its requests cost, also far beyond a turn."""
    assert emptied(filled({"a": [1, 500_000, 3, 4096, 0]})) == ["a0", "a1", "a2", "a3", "a4"]


def test_customers_take_turns() -> None:
    """One with a thousand requests in front does not delay the other's first one."""
    order = emptied(filled({"a": [QUANTUM] * 100, "b": [QUANTUM] * 3}))
    assert order[:6] == ["a0", "b0", "a1", "b1", "a2", "b2"]


def test_tokens_are_shared_not_requests() -> None:
    """While both wait, a customer of short prompts gets as many tokens as one of long prompts."""
    order = emptied(filled({"long": [16_000] * 50, "short": [1_000] * 800}))
    seen = Counter(entry[:4] for entry in order[: order.index("long39") + 1])
    assert seen["shor"] * 1_000 == pytest.approx(seen["long"] * 16_000, rel=0.1)


def test_who_has_nothing_waiting_saves_nothing_up() -> None:
    """An empty line's credit is gone."""
    queue = filled({"a": [1]})
    emptied(queue)
    for number in range(3):
        queue.push("a", f"a{number}", QUANTUM)
        queue.push("b", f"b{number}", QUANTUM)
    assert emptied(queue)[:4] == ["a0", "b0", "a1", "b1"]


def test_a_full_queue_makes_room_for_who_has_less() -> None:
    """The newest of the longest line is put out; who has the longest line is refused; equals stay."""
    queue = filled({"a": [1] * 4}, capacity=4)
    assert queue.push("a", "late", 1) == "late"
    assert queue.push("b", "b0", 1) == "a3"
    assert queue.push("b", "b1", 1) == "a2"
    assert queue.push("b", "b2", 1) == "b2"
    assert queue.push("c", "c0", 1) in ("a1", "b1")
    assert len(queue) == 4


def test_what_does_not_fit_waits_and_holds_up_its_own_line_only() -> None:
    """The first of a customer's line is skipped, not what is behind it taken; later it is served in its order."""
    queue = filled({"a": [1, 1], "b": [1, 100_000]})
    assert queue.pop(lambda entry: entry != "a0") == "b0"
    assert queue.pop(lambda entry: entry != "a0") == "b1"
    assert queue.pop(lambda entry: entry != "a0") is None
    assert emptied(queue) == ["a0", "a1"]


def test_taking_out() -> None:
    """Who leaves is not served; leaving twice, or from nowhere, is fine; draining leaves nothing."""
    queue = filled({"a": [1, 1, 1], "b": [1]})
    queue.remove("a", "a1")
    queue.remove("a", "a1")
    queue.remove("b", "b0")
    queue.remove("c", "c0")
    assert len(queue) == 2
    assert queue.drain() == ["a0", "a2"]
    assert (len(queue), queue.pop()) == (0, None)


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 20_000), st.booleans())),
    st.integers(0, 8),
)
def test_nothing_is_lost_or_served_twice(steps: list[tuple[str, int, bool]], capacity: int) -> None:
    """Every entry comes out exactly once, each customer's in order, and the size is never beyond the capacity."""
    queue: FairQueue[tuple[str, int]] = FairQueue(capacity)
    out: list[tuple[str, int]] = []
    put_out: list[tuple[str, int]] = []
    for number, (customer, tokens, take) in enumerate(steps):
        refused = queue.push(customer, (customer, number), tokens)
        if refused is not None:
            put_out.append(refused)
        assert len(queue) <= capacity
        if take and (entry := queue.pop()) is not None:
            out.append(entry)
    while (entry := queue.pop()) is not None:
        out.append(entry)
    assert sorted([*out, *put_out], key=lambda entry: entry[1]) == [(s[0], n) for n, s in enumerate(steps)]
    for customer in "abcd":
        served = [number for name, number in out if name == customer]
        assert served == sorted(served)
