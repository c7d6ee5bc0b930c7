"""lint.traffic.tails: what stands behind a difference."""

from itertools import pairwise

import pytest

from lint.traffic.losses import Loss
from lint.traffic.seen import Request
from lint.traffic.tails import Tails
from prefix.realign import realign

CONSTANT = "".join(f"Rule {at}: the clerk of desk {at * 3} waters the plants.\n" for at in range(9))
NOTES = [
    f"Note {at}: item {at * 37} is kept for {at + 3} days in hall {at * 2}. Ask desk {at * 11} for the key, and bring"
    f" form {at * 5} with you when you come to building {at * 7}.\n"
    for at in range(9)
]


def seen(*texts: str) -> tuple[Tails, Loss]:
    tails, loss = Tails(), Loss("system_text", 0, "/system", 0, ("a", "b"), 1, 2)
    for number, (a, b) in enumerate(pairwise(texts)):
        request = Request(number, number, {}, b.encode(), 0)
        runs = realign(a.encode(), b.encode(), 0)
        tails.see(request, "system_text", 0, runs)
        loss.occurrences += bool(runs)
    return tails, loss


@pytest.mark.parametrize(
    ("texts", "constant", "one_set"),
    [
        ([f"{at} {CONSTANT}" for at in range(9)], True, False),
        ([f"{at} {NOTES[at]}{CONSTANT}" for at in range(9)], True, False),
        (["".join(NOTES[at:] + NOTES[:at]) for at in range(9)], True, True),
        ([f"{at} {NOTES[at]}{NOTES[at - 1]}" for at in range(9)], False, False),
    ],
)
def test_constant_or_a_set(texts: list[str], constant: bool, one_set: bool) -> None:
    """Constant text ends alike each time; a set in another order comes again as a whole; a choice does neither."""
    tails, loss = seen(*texts)
    assert (tails.are_constant(loss), tails.are_one_set(loss)) == (constant, one_set)


def test_with_little_seen_nothing_is_denied() -> None:
    """One loss is no evidence, and causes with names need none."""
    tails, loss = seen(NOTES[0] + NOTES[1], NOTES[2] + NOTES[1])
    assert tails.are_constant(loss)
    tails.see(Request(0, 0, {}, b"", 0), "clock", 0, [])
    assert Tails().are_constant(loss)
    assert not Tails().are_one_set(loss)
