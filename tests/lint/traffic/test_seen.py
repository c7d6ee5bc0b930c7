"""lint.traffic.seen: the requests a new one is compared with."""

from typing import Any

from lint.examples import HANDBOOK, chat
from lint.traffic.seen import Request, Seen, block_keys
from prefix.divergence import view_bytes


def add(seen: Seen, number: int, body: dict[str, Any]) -> Request:
    view = view_bytes(body)
    request = Request(number, number + 1, body, view, seen.template(view))
    seen.add(request, block_keys(view, str(request.template)))
    return request


def test_block_keys_are_chained() -> None:
    """Equal as far as the beginnings are equal, and never in another scope."""
    one, other = block_keys(b"x" * 640 + b"a" * 64, "m"), block_keys(b"x" * 640 + b"b" * 64, "m")
    assert one[:11] == other[:11]
    assert one[11] != other[11]
    assert set(block_keys(b"x" * 640, "n")).isdisjoint(one)


def test_a_template_is_known_by_its_phrases() -> None:
    """Not by its beginning."""
    seen = Seen()
    first = add(seen, 0, chat(HANDBOOK))
    assert seen.template(view_bytes(chat(f"Now it is ten.\n{HANDBOOK}"))) == first.template
    assert seen.template(view_bytes(chat(HANDBOOK.upper()))) != first.template


def test_nearest_has_the_longest_common_prefix() -> None:
    """And is the latest of those that share as much."""
    seen = Seen()
    bodies = [chat(HANDBOOK + "x" * 200), chat(HANDBOOK + "y" * 200), chat(HANDBOOK + "y" * 200 + "z")]
    added = [add(seen, number, body) for number, body in enumerate(bodies)]
    view = view_bytes(bodies[0])
    assert seen.nearest(block_keys(view, str(added[0].template))) is added[0]
    view = view_bytes(bodies[1])
    assert seen.nearest(block_keys(view, str(added[0].template))) is not added[0]
    assert seen.nearest(block_keys(view, "nowhere")) is None


def test_the_turn_before() -> None:
    """Found by the messages it ended with, though the history lost its front."""
    seen = Seen()
    turns = [f"Turn {at} about shoes." for at in range(9)]
    before = add(seen, 0, chat(HANDBOOK, *turns[:7]))
    assert seen.turn_before(chat(HANDBOOK, *turns[4:9])) is before
    assert seen.turn_before(chat(HANDBOOK, *turns[:3])) is None


def test_memory_is_bounded() -> None:
    """The oldest requests are forgotten, with all that leads to them."""
    seen = Seen(memory=20_000)
    for number in range(200):
        add(seen, number, chat(f"{number} {HANDBOOK}"))
    assert len(seen._kept) < 40
    assert len(seen._latest) < 40 * 40
