"""prefix.system: where each shape of body keeps its system text."""

from typing import Any

import pytest

from prefix.body import parse_body
from prefix.system import system_texts, turns
from tests.cases import wire

USER = {"role": "user", "content": "u"}
PARTS = [{"type": "text", "text": "p"}, {"type": "image_url"}, {"type": "input_text", "text": "q"}, "r"]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({"messages": [{"role": "system", "content": "s"}, USER]}, [("/messages/0/content", "s", True)]),
        (
            {"messages": [{"role": "developer", "content": PARTS}]},
            [
                ("/messages/0/content/0/text", "p", True),
                ("/messages/0/content/2/text", "q", True),
                ("/messages/0/content/3", "r", True),
            ],
        ),
        ({"messages": [USER, {"role": "system", "content": "s"}]}, [("/messages/1/content", "s", False)]),
        ({"system": "s", "messages": [USER]}, [("/system", "s", True)]),
        (
            {"messages": [{"role": "system", "content": "t"}, USER], "system": PARTS[:1]},
            [("/system/0/text", "p", True), ("/messages/0/content", "t", True)],
        ),
        ({"instructions": "s", "input": "u"}, [("/instructions", "s", True)]),
        (
            {"instructions": "s", "input": [{"role": "developer", "content": PARTS[2:3]}, USER]},
            [("/instructions", "s", True), ("/input/0/content/0/text", "q", True)],
        ),
        ({"messages": [USER], "instructions": "s"}, []),
        ({"input": "u", "system": "s"}, []),
        ({"prompt": "p", "system": "s", "instructions": "i"}, []),
        ({"text": "t"}, []),
        ({"messages": None, "system": None}, []),
    ],
)
def test_every_shape(body: dict[str, Any], found: list[tuple[str, str, bool]]) -> None:
    """Chat, Anthropic, Responses; a member that means nothing in a shape is not read in it."""
    texts = system_texts(parse_body(wire(body)))
    assert [("".join(f"/{step}" for step in piece.path), piece.text, piece.leading) for piece in texts] == found


def test_a_piece_knows_its_content() -> None:
    """The path of the whole content, from a string, a part and a bare string among parts."""
    body = parse_body(wire({"system": "s", "messages": [{"role": "system", "content": [*PARTS, "text"]}]}))
    contents = {piece.content for piece in system_texts(body)}
    assert contents == {("system",), ("messages", 0, "content")}


def test_turns_are_messages_or_input_items() -> None:
    """An input that is a string has no items."""
    assert turns(parse_body(wire({"messages": [USER], "input": []}))) == ("messages", [USER])
    assert turns(parse_body(wire({"input": [USER]}))) == ("input", [USER])
    assert turns(parse_body(wire({"input": "u"}))) == ("input", [])
    assert turns(parse_body(wire({"prompt": "u"}))) == ("", [])
