"""prefix.conversations: what happened between two lists of messages, from the first different one on."""

import pytest

from prefix.conversations import is_newest, kind_of_turn, only_text, other_order
from tests.cases import case


def turns(*contents: str, first: str = "user") -> list[dict[str, str]]:
    """Messages with these contents, roles in turns."""
    roles = ("user", "assistant") if first == "user" else ("assistant", "user")
    return [{"role": roles[place % 2], "content": content} for place, content in enumerate(contents)]


def test_case_09_examples_in_another_order() -> None:
    """The same pairs, shuffled, whatever is asked last."""
    given_input = case(9)["input"]
    a, b = given_input["A"]["messages"][1:], given_input["B"]["messages"][1:]
    assert other_order(a, b) == "few_shot_order"
    assert other_order(a, [*b[:-1], {"role": "user", "content": "another question"}]) == "few_shot_order"


def test_case_25_the_window_slid() -> None:
    """In both directions, and not when it was cut in blocks."""
    given_input = case(25)["input"]
    a, b = given_input["turn_t"]["messages"][1:], given_input["turn_t_plus_1"]["messages"][1:]
    assert other_order(a, b) == other_order(b, a) == "window_slid"


@pytest.mark.parametrize(("cut", "more"), [(1, 0), (1, 4), (3, 1), (4, 2)])
def test_a_window_may_lose_and_gain_any_number(cut: int, more: int) -> None:
    """What is left must end as the older history ended, with two messages at least."""
    words = [f"m{place}" for place in range(6 + more)]
    older, newer = turns(*words[:6]), turns(*words)[cut:]
    assert other_order(older, newer) == "window_slid"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (turns("a"), turns("b")),
        (turns("a", "b", "c"), turns("x", "y", "z")),
        (turns("a", "b", "c"), turns("x", "b", "c")),
        (turns("a", "b", "c"), turns("c")),
        (turns("a", "b", "c", "d"), turns("b", "c", "x", first="assistant")),
        ([], turns("a")),
        ([], []),
    ],
)
def test_other_conversations_have_no_order_in_common(a: list[object], b: list[object]) -> None:
    """Nor do edited ones, single messages, or a history that lost its end."""
    assert other_order(a, b) is None
    assert other_order(b, a) is None


@pytest.mark.parametrize(
    ("a", "b", "kind"),
    [
        (turns("a"), turns("b"), "new_message"),
        ([{"role": "system", "content": "a"}], [{"role": "system", "content": "b"}], "system_text"),
        ([{"role": "developer", "content": "a"}], turns("b"), "system_text"),
        (turns("a", "b", "c"), turns("x", "b", "c"), "history_edited"),
        (turns("a", "b", "c"), turns("x", "b", "z"), "history_edited"),
        (turns("a", "b", "c"), turns("x", "y", "z"), "other_conversation"),
        (turns("a", "b"), turns("x"), "other_conversation"),
        (["a"], [1], "new_message"),
    ],
)
def test_what_a_message_is_to_its_conversation(a: list[object], b: list[object], kind: str) -> None:
    """Edited only where the conversations agree again behind it."""
    assert kind_of_turn(a, b) == kind_of_turn(b, a) == kind
    assert is_newest(a, b) == (len(a) == len(b) == 1)


def marked(turn: dict[str, str]) -> dict[str, object]:
    """The message as clients send it that mark it for a cache."""
    part = {"type": "text", "text": turn["content"], "cache_control": {"type": "ephemeral"}}
    return {**turn, "content": [part]}


def test_a_text_is_the_same_as_the_list_of_it() -> None:
    """A window slides under a mark that moves; a mark alone is no other order."""
    a, b = turns("m1", "m2", "m3", "m4"), turns("m3", "m4", "m5")
    assert other_order([*a[:3], marked(a[3])], [*b[:2], marked(b[2])]) == "window_slid"
    assert other_order([marked(a[0]), *a[1:]], [*a[:3], marked(a[3])]) is None
    assert kind_of_turn([a[0], a[1], marked(a[2])], [b[0], a[1], a[2]]) == "history_edited"


@pytest.mark.parametrize(
    ("content", "text"),
    [("x", "x"), (["x"], "x"), ([{"type": "text", "text": "x"}], "x"), (["x", "y"], None), ([], None), (None, None)],
)
def test_only_text(content: object, text: str | None) -> None:
    """Of one part, in either form."""
    assert only_text(content) == text


def test_many_equal_messages_cost_no_square() -> None:
    """A history of one message over and over is looked at in few places."""
    a = turns(*(["x"] * 40_000), "a")
    assert other_order(a, turns(*(["x"] * 40_000), "b")[1:]) is None
