"""prefix.canonical at levels off and safe: what moves, and everything that must not."""

import json
import random
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefix.body import parse_body
from prefix.canonical import Canonical, ToolCache, canonical_members, canonicalize
from prefix.errors import BodyError, ConfigError
from tests.cases import case, wire
from tests.prefix.strategies import JSON, dump, shuffled_tools, tools

STYLES: list[Any] = [(",", ":"), (", ", ": "), (" ,", " : ")]


def body_with(tools: list[dict[str, Any]], separators: tuple[str, str] = (", ", ": ")) -> bytes:
    """A chat body with these tools."""
    chat = {"model": "m", "tools": tools, "messages": [{"role": "user", "content": "Hi"}], "temperature": 1.50}
    return json.dumps(chat, separators=separators).encode()


def kinds(result: Canonical) -> list[str]:
    """The kinds of all changes."""
    return [change.kind for change in result.changes]


@given(tools(), st.integers(0, 2**32), st.sampled_from(STYLES))
def test_permutations_of_one_tool_set_give_one_body(
    made: list[dict[str, Any]], seed: int, separators: tuple[str, str]
) -> None:
    """Order of tools, schema keywords and set-like lists does not reach the engine."""
    mixed = shuffled_tools(made, random.Random(seed))
    assert canonicalize(body_with(mixed, separators)).body == canonicalize(body_with(made, separators)).body


@given(tools(), st.sampled_from([None, 0, 3]))
def test_canonical_is_idempotent_and_means_the_same(made: list[dict[str, Any]], indent: int | None) -> None:
    """Twice is once; and the body parses to the same value but for the order of those lists."""
    raw = dump({"tools": made, "model": "m"}, indent)
    once = canonicalize(raw)
    assert canonicalize(once.body) == Canonical(once.body, ())
    assert once.changed == (once.body != raw)
    assert len(once.body) == len(raw)
    assert _as_sets(json.loads(once.body)) == _as_sets(json.loads(raw))


def _as_sets(value: Any, key: str = "") -> Any:
    """The value with the order of set-like lists and of tools taken out."""
    if isinstance(value, dict):
        return {name: _as_sets(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        items = [_as_sets(item) for item in value]
        return (
            sorted(json.dumps(item, sort_keys=True) for item in items)
            if key in ("tools", "required") or _is_dependency(key, value)
            else items
        )
    return value


def _is_dependency(key: str, value: list[Any]) -> bool:
    return bool(value) and all(isinstance(item, str) for item in value) and key not in ("enum", "type", "examples")


@given(st.dictionaries(st.text(), JSON, max_size=6))
def test_bodies_without_tools_are_untouched(body: dict[str, Any]) -> None:
    """Nothing but tools is ever rewritten at level safe."""
    body.pop("tools", None), body.pop("functions", None)
    raw = dump(body)
    assert canonicalize(raw) == Canonical(raw, ())


@given(tools(), st.integers(0, 2**32))
def test_off_returns_the_very_bytes(made: list[dict[str, Any]], seed: int) -> None:
    """Level off is the identity, not a copy."""
    raw = body_with(shuffled_tools(made, random.Random(seed)))
    assert canonicalize(raw, level="off").body is raw


@given(tools(), st.integers(0, 2**32))
def test_a_cache_changes_speed_only(made: list[dict[str, Any]], seed: int) -> None:
    """With a warm, tiny or fresh cache the replacement bytes are the same."""
    rng = random.Random(seed)
    warm, tiny = ToolCache(), ToolCache(limit_bytes=600)
    for _ in range(3):
        body = parse_body(body_with(shuffled_tools(made, rng)))
        expected = canonical_members(body, ToolCache())
        assert canonical_members(body, warm) == expected == canonical_members(body, tiny)


@pytest.mark.parametrize("number", [10, 14])
def test_cases_of_order_are_equal_after_canonicalisation(number: int) -> None:
    """Cases 10 and 14: tools in another order, keywords in another order."""
    given_case = case(number)
    left, right = (canonicalize(wire(given_case["input"][key])) for key in "AB")
    assert left.body == right.body
    names = [tool["function"]["name"] for tool in json.loads(left.body)["tools"]]
    assert names == given_case["expected"].get("canonical_tools_names", names)


def test_case_12_the_mark_stays_on_its_tool() -> None:
    """cache_control is neither removed nor moved to another tool."""
    given_case = case(12)["input"]
    left, right = (canonicalize(wire(given_case[key])).body for key in "AB")
    assert left == right
    marked = [tool["function"]["name"] for tool in json.loads(left)["tools"] if "cache_control" in tool]
    assert marked == ["web_search"]


def test_case_16_order_that_is_meaning_stays() -> None:
    """response_format and strict tools are forwarded as they came."""
    given_case = case(16)["input"]
    raw = wire({**given_case["body"], "tools": [given_case["strict_tool"]]})
    assert canonicalize(raw) == Canonical(raw, ())


@pytest.mark.parametrize("number", [19, 56])
def test_cases_of_untouchable_fields(number: int) -> None:
    """Cases 19 and 56: tool-call arguments and unknown fields pass byte-equal."""
    for body in case(number)["input"].values():
        assert canonicalize(wire(body)).body == wire(body)


def test_property_names_that_look_like_keywords_are_not_keywords() -> None:
    """`required` or `type` as a property's name: its place among the properties stays."""
    schema = {
        "properties": {"type": {"type": "string"}, "required": {"enum": ["b", "a"]}, "a": True},
        "type": "object",
    }
    raw = body_with([{"type": "function", "function": {"name": "f", "parameters": schema}}])
    result = json.loads(canonicalize(raw).body)["tools"][0]["function"]["parameters"]
    assert list(result) == ["type", "properties"]
    assert list(result["properties"]) == ["type", "required", "a"]
    assert result["properties"]["required"]["enum"] == ["b", "a"]


def test_names_sort_by_code_point_and_equal_names_keep_their_order() -> None:
    """No locale, no case folding, no Unicode normalisation; escapes are read first."""
    raw = b'{"tools":[{"name":"b","x":1},{"name":"\\u0061"},{"name":"b","x":0},{"name":"B"},{"name":"\xc3\xa9"}]}'
    result = canonicalize(raw)
    found = [(tool["name"], tool.get("x")) for tool in json.loads(result.body)["tools"]]
    assert found == [("B", None), ("a", None), ("b", 1), ("b", 0), ("é", None)]
    assert kinds(result) == ["tool_order"]
    assert b'"\\u0061"' in result.body


@pytest.mark.parametrize(
    "tools",
    [
        [{"name": "b"}, {"type": "web_search"}, {"name": "a"}],
        [{"name": "b"}, "a"],
        [{"name": "b"}, None, 3, {"name": 7}],
        {"name": "b"},
        "tools",
        None,
        [],
    ],
)
def test_tools_that_cannot_be_ordered_stay(tools: Any) -> None:
    """An element without a name, or no array at all: the client's order stands."""
    raw = dump({"tools": tools})
    assert canonicalize(raw) == Canonical(raw, ())


def test_an_object_with_duplicate_keywords_is_left_alone() -> None:
    """Moving duplicates could change which one counts."""
    raw = b'{"tools":[{"name":"f","parameters":{"required":[],"type":"object","required":["b","a"]}}]}'
    assert canonicalize(raw) == Canonical(raw, ())


def test_changes_name_their_place() -> None:
    """Each change has the JSON pointer of the place in the client's body and its kind."""
    schema = {"required": ["b", "a"], "type": "object", "properties": {"a/b": {"description": "", "type": "string"}}}
    result = canonicalize(dump({"functions": [{"name": "z"}, {"name": "f", "parameters": schema}]}))
    assert [tuple(change) for change in result.changes] == [
        ("/functions", "tool_order"),
        ("/functions/1/parameters/required", "set_order"),
        ("/functions/1/parameters/properties/a~1b", "keyword_order"),
        ("/functions/1/parameters", "keyword_order"),
    ]


def test_unknown_level_and_bad_bodies_are_named_errors() -> None:
    """A level that does not exist, and a body that nests too deep, are refused by name."""
    with pytest.raises(ConfigError, match="off, safe"):
        canonicalize(b"{}", level="hoist")  # type: ignore[arg-type]
    with pytest.raises(BodyError, match="deeper"):
        canonicalize(b'{"messages":' + b"[" * 129 + b"]" * 129 + b"}")


def test_other_processes_agree() -> None:
    """Another interpreter with another hash seed gives the same bytes."""
    raw = wire(case(10)["input"]["B"])
    code = (
        "import sys; from prefix.canonical import canonicalize; "
        "sys.stdout.buffer.write(canonicalize(sys.stdin.buffer.read()).body)"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code], input=raw, capture_output=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert runs == {canonicalize(raw).body}
