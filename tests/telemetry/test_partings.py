"""telemetry.partings: what causes cost is exact, though few requests are examined."""

from hypothesis import given
from hypothesis import strategies as st

from prefix.causes import Cause
from telemetry.partings import CAUSES, PLACES, Loss, Partings, PlaceName

KEY = ("default", "v1")


def clock(offset: int, path: str = "/messages/0/content") -> Cause:
    """A cause at this offset."""
    return Cause("clock", path, offset, "09:14:07", "09:15:29")


def lost(partings: Partings) -> list[Loss]:
    """What the version lost."""
    return list(partings.of(KEY))


requests = st.tuples(st.integers(0, 400) | st.none(), st.integers(1, 5000), st.booleans(), st.booleans())


@given(st.lists(requests, max_size=60), st.integers(0, 3))
def test_tokens_add_up_whatever_is_examined(sent: list[tuple[int | None, int, bool, bool]], late: int) -> None:
    """And so do requests: causes and the unexplained are all there is, at any moment, in any order."""
    partings, waiting = Partings(), list[tuple[PlaceName, str]]()
    for number, (parted, tokens, seen, free) in enumerate(sent):
        place = partings.record(KEY, "v1", tokens, f"r{number}", parted, free=free)
        if place is not None:
            waiting.append((place, f"r{number}"))
        if len(waiting) > late:
            name, request_id = waiting.pop(0)
            partings.explain(name, request_id, clock(name[2]) if seen else None)
        found = lost(partings)
        assert sum(loss.tokens for loss in found) == sum(each[1] for each in sent[: number + 1])
        assert sum(loss.requests for loss in found) == number + 1


def test_an_examination_explains_what_waits_and_what_comes() -> None:
    """A request that is not examined is put down to what was found last; no value is kept, only its length."""
    partings = Partings()
    assert partings.record(KEY, "v1", 100, "r1", 70, free=False) is None
    place = partings.record(KEY, "v1", 200, "r2", 75, free=True)
    assert place is not None
    partings.explain(place, "r2", clock(33))
    assert partings.record(KEY, "v1", 300, "r3", 100, free=True) is None
    (loss,) = lost(partings)
    assert (loss.requests, loss.tokens, loss.request_id, loss.sizes) == (3, 600, "r3", (8, 8))
    assert loss.cause == Cause("clock", "/messages/0/content", 33, None, None)


def test_a_place_is_examined_again_and_again_but_seldom() -> None:
    """The first prompt of a version parts from another version's, and says nothing of those that follow."""
    partings, examined = Partings(), list[int]()
    for number in range(1, 1001):
        place = partings.record(KEY, "v1", 1, f"r{number}", 0, free=True)
        if place is not None:
            examined.append(number)
            partings.explain(place, f"r{number}", clock(3) if number > 1 else Cause("system_text", "/x", 3, "a", "b"))
    assert examined == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 768]
    assert [(loss.cause.kind, loss.tokens) for loss in lost(partings) if loss.cause] == [
        ("clock", 999),
        ("system_text", 1),
    ]


def test_a_cause_at_several_places_is_one_with_a_range() -> None:
    """From and to where it was seen. Another pointer is another cause; the dearest is first, the unexplained last."""
    partings = Partings()
    for number, (parted, offset, tokens) in enumerate([(0, 12, 10), (640, 655, 30), (64, 70, 20)]):
        place = partings.record(KEY, "v1", tokens, f"r{number}", parted, free=True)
        assert place is not None
        partings.explain(place, f"r{number}", clock(offset))
    other = partings.record(KEY, "v1", 500, "r9", 6400, free=True)
    assert other is not None
    partings.explain(other, "r9", clock(1, "/messages/1/content"))
    partings.record(KEY, "v1", 9999, "r10", None, free=True)
    first, second, third = lost(partings)
    assert (first.tokens, second.tokens, third.cause) == (500, 60, None)
    assert (second.offset, second.offset_end) == (12, 655)


def test_versions_under_one_label_are_kept_apart() -> None:
    """What is known of one template says nothing of another that is counted with it under `other`."""
    partings = Partings()
    place = partings.record(("default", "other"), "aaa", 10, "r1", 0, free=True)
    assert place is not None
    partings.explain(place, "r1", clock(1))
    assert partings.record(("default", "other"), "bbb", 10, "r2", 0, free=True) is not None


def test_places_and_causes_are_bounded() -> None:
    """A flood of places, with pointers as long as a client likes, costs a bounded amount; the tokens stay exact."""
    partings = Partings()
    for number in range(PLACES + 500):
        place = partings.record(KEY, f"v{number}", 1, f"r{number}", 0, free=True)
        assert place is not None
        partings.explain(place, f"r{number}", clock(0, f"/{number}/" + "x" * 100_000))
    found = lost(partings)
    assert len(found) == CAUSES + 1
    assert sum(loss.tokens for loss in found) == PLACES + 500
    assert len(partings._places) == PLACES
    assert max(len(loss.cause.path) for loss in found if loss.cause) <= 256
