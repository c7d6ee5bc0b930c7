"""prefix.divergence: the public cases to the byte, and that place, reason and offset never contradict each other."""

import copy
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefix.divergence import MISSING, Divergence, first_divergence, value_at, view_bytes
from prefix.errors import BodyError
from tests.cases import case
from tests.prefix.strategies import JSON

CASES = [
    (1, "A", "B", "divergence"),
    (4, "A", "B", "divergence"),
    (5, "A", "B", "divergence"),
    (7, "A", "B", "divergence"),
    (9, "A", "B", "divergence"),
    (10, "A", "B", "divergence"),
    (14, "A", "B", "divergence"),
    (19, "generated_then_replayed_verbatim", "replayed_sorted", "verbatim_vs_sorted"),
    (24, "turn2", "turn3", "divergence"),
    (24, "turn2", "turn3_kept", "divergence_if_kept"),
    (25, "turn_t", "turn_t_plus_1", "divergence"),
    (25, "block_aligned_t", "block_aligned_t_plus_1", "block_aligned_divergence"),
    (27, "A", "B", "divergence"),
    (27, "A_moved", "B_moved", "divergence_moved"),
    (32, "A", "B", "A_vs_B"),
    (32, "A", "C", "A_vs_C"),
]


@pytest.mark.parametrize(("number", "a", "b", "expected"), CASES)
def test_public_cases(number: int, a: str, b: str, expected: str) -> None:
    """Path, reason, offsets and lengths are exactly those of the case."""
    given_case = case(number)
    found = first_divergence(given_case["input"][a], given_case["input"][b])
    assert found is not None
    seen = {key: getattr(found, key) for key in given_case["expected"][expected]}
    assert json.loads(json.dumps(seen)) == given_case["expected"][expected]


def test_case_17_spacing_and_escapes_part_nothing() -> None:
    """The spelling on the wire is not the prompt; the order of a tool's members is."""
    a, b = (json.loads(case(17)["input"][key]) for key in ("wire_A", "wire_B"))
    assert first_divergence(a, json.loads(json.dumps(a, indent=3))) is None
    found = first_divergence(a, b)
    assert found is not None
    assert (found.path, found.reason, found.key_a, found.key_b) == ("/tools/0", "key_order", "type", "function")


@pytest.mark.parametrize(("a", "b"), [("auto", "named"), ("auto", "none")])
def test_case_30_a_parameter_parts_no_view(a: str, b: str) -> None:
    """What tool_choice does to the prompt is a cause (prefix.causes), not a difference of text."""
    assert first_divergence(case(30)["input"][a], case(30)["input"][b]) is None


def chat(*contents: Any, **members: Any) -> dict[str, Any]:
    """A chat body: its messages' contents, and other members."""
    roles = ("user", "assistant")
    return {**members, "messages": [{"role": roles[n % 2], "content": text} for n, text in enumerate(contents)]}


TOOL = {"name": "t", "parameters": {}}

TABLE: list[tuple[Any, Any, str, str, int | None]] = [
    (chat("a\tb"), chat("a\nb"), "/messages/0/content", "string", 1),
    (chat("caf\u00e9"), chat("caf\u00e8"), "/messages/0/content", "string", 3),
    (chat("ab"), chat("abc"), "/messages/0/content", "string", 2),
    (chat(""), chat("x"), "/messages/0/content", "string", 0),
    (chat("\ud800a"), chat("\ud800b"), "/messages/0/content", "string", 1),
    (chat("a"), chat(["a"]), "/messages/0/content", "type", None),
    (chat(None), chat("a"), "/messages/0/content", "type", None),
    (chat(1), chat(True), "/messages/0/content", "type", None),
    (chat(1), chat(1.0), "/messages/0/content", "value", None),
    (chat(0.0), chat(-0.0), "/messages/0/content", "value", None),
    (chat(True), chat(False), "/messages/0/content", "value", None),
    (chat("a"), chat("a", "b"), "/messages/1", "append", None),
    (chat(), chat("a"), "/messages/0", "append", None),
    (chat("a"), {"messages": [{"content": "a", "role": "user"}]}, "/messages/0", "key_order", None),
    (chat("a", tools=[TOOL]), chat("a"), "/tools", "key_missing", None),
    (chat("a", tools=[TOOL]), chat("a", tools=[TOOL, TOOL]), "/tools/1", "append", None),
    (chat("a", tools=None), chat("a"), "/tools", "key_missing", None),
    (chat("a", functions=[1]), chat("a", functions=[2]), "/functions/0", "value", None),
    (chat("a", tools=[TOOL]), chat("a", functions=[TOOL]), "/tools", "key_missing", None),
    (chat("a", system="x"), chat("b", system="y"), "/system", "string", 0),
    (chat("a", system="x"), chat("a", system=[{"text": "x"}]), "/system", "type", None),
    ({"instructions": "x", "input": "q"}, {"instructions": "x", "input": "r"}, "/input", "string", 0),
    ({"prompt": "one"}, {"prompt": "onto"}, "/prompt", "string", 2),
    ({"prompt": ["p", "q"]}, {"prompt": ["p", "r"]}, "/prompt/1", "string", 0),
    ({"text": "x"}, {"text": "y"}, "/text", "string", 0),
    ({"text": "x"}, {"prompt": "x"}, "/prompt", "key_missing", None),
    (chat("a", tools=[TOOL]), chat("a", system="x"), "/tools", "key_missing", None),
    ({"input_ids": [1, 2, 3]}, {"input_ids": [1, 2, 4]}, "/input_ids/2", "value", None),
    ({"input_ids": [1, 2]}, {"input_ids": [1, 2, 3]}, "/input_ids/2", "append", None),
    (chat({"a/b": {"c~d": 1}}), chat({"a/b": {"c~d": 2}}), "/messages/0/content/a~1b/c~0d", "value", None),
    (chat({"a": 1, "b": 2}), chat({"b": 2}), "/messages/0/content/a", "key_missing", None),
    (chat({"b": 2}), chat({"a": 1, "b": 2}), "/messages/0/content/a", "key_missing", None),
    (chat({"a": 1, "b": 2}), chat({"b": 2, "a": 3}), "/messages/0/content", "key_order", None),
]


@pytest.mark.parametrize(("a", "b", "path", "reason", "offset"), TABLE)
def test_place_reason_and_offset(a: Any, b: Any, path: str, reason: str, offset: int | None) -> None:
    """Every reason in every shape of body; the other way round the place is the same."""
    there, back = first_divergence(a, b), first_divergence(b, a)
    assert there is not None
    assert back is not None
    assert (there.path, there.reason, there.char_offset) == (path, reason, offset)
    assert (back.path, back.reason, back.char_offset) == (path, reason, offset)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (chat("a", model="m", temperature=1, stream=True), chat("a", model="m")),
        (chat("a", response_format={"type": "json_object"}, user="u"), chat("a")),
        ({"input": "q", "text": {"format": "x"}}, {"input": "q", "text": {"format": "y"}}),
        ({"text": "q", "input_ids": None}, {"text": "q"}),
        ({"input_ids": [1], "text": None}, {"input_ids": [1]}),
        ({"messages": [], "tools": []}, {"tools": [], "messages": []}),
        ({"model": "m"}, {}),
        (chat(float("nan")), chat(float("nan"))),
    ],
)
def test_what_is_no_prompt_does_not_count(a: Any, b: Any) -> None:
    """Sampling, metadata, output formats, the order of the members themselves, and a second prompt that is null."""
    assert first_divergence(a, b) is None


BODIES = st.fixed_dictionaries(
    {"messages": st.lists(JSON, max_size=4)},
    optional={"tools": st.lists(JSON, max_size=3), "system": JSON, "n": JSON},
)


@given(BODIES)
def test_a_copy_never_parts(body: dict[str, Any]) -> None:
    """Nor does the same body after a trip over the wire."""
    assert first_divergence(body, copy.deepcopy(body)) is None
    assert first_divergence(body, json.loads(json.dumps(body))) is None


@given(BODIES, BODIES)
def test_offset_lengths_and_place_agree(a: dict[str, Any], b: dict[str, Any]) -> None:
    """The offset is the first differing byte of the views; the two values at path differ; the other way round too."""
    found = first_divergence(a, b)
    views = view_bytes(a), view_bytes(b)
    assert (found is None) == (views[0] == views[1])
    if found is None:
        return
    at = found.view_byte_offset
    assert found.view_bytes == (len(views[0]), len(views[1]))
    assert views[0][:at] == views[1][:at]
    assert views[0][at] != views[1][at]
    here, there = value_at(a, found.path), value_at(b, found.path)
    assert _dumped(here) != _dumped(there)
    assert (found.reason in ("append", "key_missing")) == (here is MISSING or there is MISSING)
    assert (found.char_offset is not None) == (found.reason == "string") == (type(here) is type(there) is str)
    back = first_divergence(b, a)
    assert back is not None
    path = back.path if found.reason == "key_missing" else found.path  # of two that are missing either may be named
    assert back == replace(found, path=path, view_bytes=found.view_bytes[::-1], key_a=found.key_b, key_b=found.key_a)


def _dumped(value: Any) -> str:
    return "" if value is MISSING else json.dumps(value)


@given(st.lists(JSON, max_size=5), st.lists(JSON, min_size=1, max_size=3))
def test_a_longer_conversation_appends(history: list[Any], more: list[Any]) -> None:
    """A strict prefix in messages is an append, where the shorter one ends."""
    found = first_divergence({"messages": history}, {"messages": history + more})
    assert found is not None
    assert (found.path, found.reason) == (f"/messages/{len(history)}", "append")


@given(st.text(), st.text(), st.text())
def test_a_text_parts_where_its_code_points_do(shared: str, a: str, b: str) -> None:
    """char_offset is the length of the common prefix, escapes and surrogates included."""
    found = first_divergence({"prompt": shared + a}, {"prompt": shared + b})
    if found is None:
        assert a == b
        return
    at = found.char_offset
    assert at is not None
    assert at >= len(shared)
    assert (shared + a)[:at] == (shared + b)[:at]
    assert (shared + a)[at : at + 1] != (shared + b)[at : at + 1]


@given(JSON, st.integers(0, 3))
def test_deep_values_have_the_same_view(value: Any, wraps: int) -> None:
    """The view does not depend on which of the two encoders wrote it."""
    from prefix.divergence import _pieces

    for _ in range(wraps):
        value = {"k": [value, {}], "é": []}
    assert "".join(_pieces(value)) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def deep(levels: int, leaf: Any) -> Any:
    """Arrays and objects in turns around a leaf."""
    for _ in range(levels // 2):
        leaf = {"a": [leaf]}
    return leaf


def test_deep_bodies_part_like_others() -> None:
    """20,000 levels, far beyond what Python's own stack holds."""
    found = first_divergence({"messages": deep(20_000, 1)}, {"messages": deep(20_000, 2)})
    assert found is not None
    assert (found.path, found.reason) == ("/messages" + "/a/0" * 10_000, "value")
    assert found.view_byte_offset == len('{"messages":') + len('{"a":[') * 10_000
    assert first_divergence({"messages": deep(20_000, 1)}, {"messages": deep(20_000, 1)}) is None


def test_huge_bodies() -> None:
    """A long text, many token ids, many messages: the last place is found."""
    text = "x" * 5_000_000
    assert first_divergence({"prompt": text + "a"}, {"prompt": text + "b"}) == Divergence(
        "/prompt", "string", 5_000_000, 5_000_011, (5_000_014, 5_000_014)
    )
    ids = list(range(200_000))
    found = first_divergence({"input_ids": [*ids, 1]}, {"input_ids": [*ids, 2]})
    assert found is not None
    assert found.path == "/input_ids/200000"


@pytest.mark.parametrize("value", [{1, 2}, object(), b"x"])
def test_what_no_json_parser_gives_is_refused(value: Any) -> None:
    """With a named error."""
    with pytest.raises(BodyError, match="not a parsed JSON body"):
        first_divergence({"messages": value}, {"messages": 1})


def test_a_body_that_holds_itself_is_refused() -> None:
    """It has no end to find."""
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(BodyError, match="Circular"):
        first_divergence({"messages": endless}, {"messages": []})


@pytest.mark.parametrize(
    ("path", "value"),
    [("", {"a": [{"b~/": 1}]}), ("/a/0/b~0~1", 1), ("/a/1", MISSING), ("/a/x", MISSING), ("/a/0/b~0~1/c", MISSING)],
)
def test_value_at(path: str, value: Any) -> None:
    """RFC 6901, with a mark for what is not there."""
    assert value_at({"a": [{"b~/": 1}]}, path) == value
