"""lint.traffic.pairs: what two requests alone say of each other."""

from typing import Any

import pytest

from lint.traffic.pairs import in_newest, is_batch, same_end, session_change

TURN = {"role": "user", "content": "Where is my parcel?"}
MORE = [TURN, {"role": "assistant", "content": "On its way."}, TURN]
SCHEMA = {"type": "json_schema", "json_schema": {"name": "a", "schema": {}}}


@pytest.mark.parametrize(
    ("a", "b", "kind"),
    [
        ({"model": "a"}, {"model": "b"}, "model"),
        ({"model": "gpt-4o"}, {"model": "gpt-4o", "response_format": SCHEMA}, "response_format"),
        ({"model": "qwen"}, {"model": "qwen", "response_format": SCHEMA}, None),
        ({"model": "a"}, {"model": "a"}, None),
    ],
)
def test_what_changed_beside_the_text(a: dict[str, Any], b: dict[str, Any], kind: str | None) -> None:
    """Between two turns of one conversation: another model, or a format where the model's prompt begins with it."""
    found = session_change({**a, "messages": [TURN]}, {**b, "messages": MORE})
    assert (found and found.kind) == kind
    assert session_change({**a, "messages": [TURN]}, {**b, "messages": [{"role": "user", "content": "Hi"}]}) is None


def test_texts_to_embed() -> None:
    """A list of texts is a batch; one text, or messages, are a prompt."""
    assert is_batch({"input": ["a", "b"]})
    assert not any(map(is_batch, ({"input": "a"}, {"input": []}, {"input": [TURN]}, {"messages": MORE})))


def test_the_newest_message() -> None:
    """Its place, when there are earlier ones."""
    body = {"messages": MORE}
    assert in_newest(body, "/messages/2/content")
    assert not in_newest(body, "/messages/0/content")
    assert not in_newest({"messages": [TURN]}, "/messages/0/content")
    assert not in_newest(body, "/system")


def test_ends_of_short_prompts() -> None:
    """What two of them have in common at the end, when it is more than closing brackets."""
    end = b" and all the rest of it is the same."
    assert same_end(b"one" + end, b"two" + end, 0) == len(end)
    assert same_end(b"one]}", b"two]}", 0) == 0
    assert same_end(b"x" * 3000 + end, b"y" + end, 0) == 0
