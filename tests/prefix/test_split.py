"""prefix.split: what everybody sends is one side, what one user says the other."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefix.errors import BodyError
from prefix.split import Segment, Split, split
from tests.cases import case, wire

SYSTEM, USER = {"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {}}}


def sides(made: Split) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """Pointers and bytes of both sides."""
    return [(s.pointer, s.bytes) for s in made.stable_prefix.segments], [
        (s.pointer, s.bytes) for s in made.suffix.segments
    ]


TOOL_BYTES = len(wire([TOOL]))
SHAPES: list[tuple[dict[str, Any], list[tuple[str, int]], list[tuple[str, int]], str]] = [
    ({"messages": [SYSTEM, USER]}, [("/messages/0", 8)], [("/messages/1", 2)], "/messages/1"),
    (
        {"messages": [SYSTEM, {"role": "developer", "content": "é"}, USER, SYSTEM], "tools": [TOOL]},
        [("/tools", TOOL_BYTES), ("/messages/0", 8), ("/messages/1", 2)],
        [("/messages/2", 2), ("/messages/3", 8)],
        "/messages/2",
    ),
    ({"messages": [USER], "functions": [TOOL]}, [("/functions", TOOL_BYTES)], [("/messages/0", 2)], "/messages/0"),
    ({"messages": [SYSTEM]}, [("/messages/0", 8)], [], "/messages/1"),
    ({"messages": []}, [], [], "/messages/0"),
    ({"system": "S", "messages": [USER]}, [("/system", 1)], [("/messages/0", 2)], "/messages/0"),
    ({"instructions": "S", "input": "Hello"}, [("/instructions", 1)], [("/input", 5)], "/input"),
    (
        {"instructions": "S", "input": [SYSTEM, USER]},
        [("/instructions", 1), ("/input/0", 8)],
        [("/input/1", 2)],
        "/input/1",
    ),
    ({"prompt": "Once"}, [], [("/prompt", 4)], "/prompt"),
    ({"prompt": ["Once", "Twice"]}, [], [("/prompt", 9)], "/prompt"),
    ({"text": "Once", "model": "m"}, [], [("/text", 4)], "/text"),
    ({"input_ids": [1, 2, 3]}, [], [("/input_ids", 12)], "/input_ids"),
    ({"input_ids": [[1, 2], [3]]}, [], [("/input_ids", 12)], "/input_ids"),
    ({"messages": "nonsense"}, [], [("/messages", 8)], "/messages"),
    ({"messages": [None, 5]}, [], [("/messages/0", 4), ("/messages/1", 1)], "/messages/0"),
    ({"model": "m"}, [], [], ""),
]


@pytest.mark.parametrize(("body", "prefix", "suffix", "ends_at"), SHAPES)
def test_every_shape_is_split(body: Any, prefix: list[Any], suffix: list[Any], ends_at: str) -> None:
    """Tools and leading system text on one side, the rest on the other, with the pointer between them."""
    made = split(wire(body))
    assert sides(made) == (prefix, suffix)
    assert made.ends_at == made.stable_prefix.ends_at == ends_at
    assert (made.stable_prefix.bytes, made.suffix.bytes) == (sum(n for _, n in prefix), sum(n for _, n in suffix))


CONTENTS: list[tuple[dict[str, Any], int]] = [
    ({"content": ["ab", {"type": "text", "text": "cd"}]}, 4),
    ({"content": None, "tool_calls": [{"id": "c"}]}, len('{"id":"c"}')),
    ({"content": "a", "reasoning_content": "bc", "name": "d"}, 4),
    ({"content": [{"type": "image_url", "image_url": {"url": "u"}, "cache_control": {}}]}, 44),
    ({"content": "\ud83e"}, 3),
    ({"type": "function_call_output", "call_id": "c", "output": "abc"}, 3),
    ({"role": "user"}, 0),
]


@pytest.mark.parametrize(("message", "size"), CONTENTS)
def test_bytes_are_those_of_the_text(message: dict[str, Any], size: int) -> None:
    """Text as UTF-8, what is no text as compact JSON, cache marks and ids of calls not at all."""
    made = split(json.dumps({"messages": [USER, message]}).encode())
    assert made.suffix.segments[1] == Segment("/messages/1", size)


def test_spacing_and_escapes_have_no_length() -> None:
    """The lengths are the prompt's, not the wire's (case 17)."""
    inputs = case(17)["input"]
    a, b = (split(inputs[name].encode()) for name in ("wire_A", "wire_B"))
    assert sides(a) == sides(b)
    assert a == b


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b'{"a":\xff}', b'{"tools":[],"tools":[]}'])
def test_what_is_no_body_is_refused(raw: bytes) -> None:
    """With the named error of the parser."""
    with pytest.raises(BodyError):
        split(raw)


MESSAGES = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["system", "user"]), "content": st.text(max_size=9)}), max_size=5
)


@given(MESSAGES, st.integers(0, 2000), st.integers(0, 1000))
def test_the_boundary_moves_forward_only_and_loses_nothing(messages: list[Any], shared: int, total: int) -> None:
    """Popularity adds to the stable prefix what it takes from the suffix; the version stays."""
    before = split(wire({"messages": messages}))
    after = before.reaching(shared, total)
    size = before.stable_prefix.bytes + before.suffix.bytes
    assert after.stable_prefix.bytes == max(before.stable_prefix.bytes, min(size, size * shared // max(total, 1)))
    assert after.stable_prefix.bytes + after.suffix.bytes == size
    assert after.prompt_version == before.prompt_version
    assert after.ends_at == (after.suffix.segments[0].pointer if after.suffix.segments else before.suffix.ends_at)


def test_few_shots_that_traffic_shares_count_as_prefix() -> None:
    """The boundary moves behind them, into the message where prompts part."""
    shots = [{"role": "user", "content": "2+2"}, {"role": "assistant", "content": "4"}]
    made = split(wire({"messages": [SYSTEM, *shots, {"role": "user", "content": "question"}]}))
    assert sides(made.reaching(14, 20))[0] == [
        ("/messages/0", 8),
        ("/messages/1", 3),
        ("/messages/2", 1),
        ("/messages/3", 2),
    ]
    assert made.reaching(14, 20).ends_at == "/messages/3"
    assert made.reaching(12, 20).ends_at == "/messages/3"
    assert made.reaching(5, 20) == made
    assert made.reaching(20, 20).ends_at == "/messages/4"
