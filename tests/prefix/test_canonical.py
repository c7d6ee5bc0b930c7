"""prefix.canonical: what level safe moves in every shape of body, how levels build on it, and what must not move."""

import json
import random
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefix.body import parse_body
from prefix.canonical import LEVELS, Canonical, Level, Rules, ToolCache, canonical_members, canonicalize, rewrite
from prefix.errors import BodyError, ConfigError
from prefix.hoist import Hoist
from prefix.scan import splice
from tests.cases import case, wire
from tests.prefix.bodies import BODIES, INDENTS, raw_of
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


@pytest.mark.parametrize("level", LEVELS)
def test_case_16_order_that_is_meaning_stays(level: Level) -> None:
    """response_format and strict tools are forwarded as they came, at every level."""
    given_case = case(16)["input"]
    raw = wire({**given_case["body"], "tools": [given_case["strict_tool"]]})
    assert canonicalize(raw, level=level) == Canonical(raw, ())


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("number", [19, 24, 56])
def test_cases_of_untouchable_fields(number: int, level: Level) -> None:
    """Cases 19, 24 and 56: tool-call arguments, reasoning and unknown fields pass byte-equal at every level."""
    for body in case(number)["input"].values():
        assert canonicalize(wire(body), level=level).body == wire(body)


@given(BODIES, INDENTS)
def test_beside_the_tools_every_byte_of_every_shape_stays(body: dict[str, Any], indent: int | None) -> None:
    """Random chat, Anthropic and Responses bodies at level safe: cut out the tools, and nothing has changed."""
    raw = raw_of(body, indent)
    sent = canonicalize(raw).body
    assert [_without_tools(part) for part in (sent, raw)] == [_without_tools(raw)] * 2


def _without_tools(raw: bytes) -> bytes:
    spans = parse_body(raw).spans
    return splice(raw, {spans["tools"]: b""}) if "tools" in spans else raw


SCHEMA: dict[str, Any] = {"required": ["b", "a"], "type": "object", "properties": {"b": {}, "a": {}}, "x": 1.5}
FORM: dict[str, Any] = {"type": "object", "properties": {"b": {}, "a": {}}, "required": ["a", "b"], "x": 1.5}


@pytest.mark.parametrize(
    ("body", "key", "tool"),
    [
        (
            {"messages": []},
            "tools",
            lambda name, schema: {"type": "function", "function": {"name": name, "parameters": schema}},
        ),
        ({"messages": []}, "functions", lambda name, schema: {"name": name, "parameters": schema}),
        (
            {"prompt": "p \r\n"},
            "tools",
            lambda name, schema: {"type": "function", "function": {"name": name, "parameters": schema}},
        ),
        (
            {
                "instructions": "i \r\n",
                "input": [{"role": "user", "content": [{"type": "input_text", "text": "u \r\n"}]}],
            },
            "tools",
            lambda name, schema: {"type": "function", "name": name, "description": "d", "parameters": schema},
        ),
        (
            {"system": [{"type": "text", "text": "s \r\n", "cache_control": {"type": "ephemeral"}}], "messages": []},
            "tools",
            lambda name, schema: {"name": name, "input_schema": schema, "cache_control": {"type": name}},
        ),
        (
            {"text": "t \r\n", "sampling_params": {"json_schema": "{}"}},
            "tools",
            lambda name, schema: {"name": name, "parameters": schema},
        ),
    ],
)
def test_every_shape_s_tools(body: dict[str, Any], key: str, tool: Any) -> None:
    """Chat with tools or functions, completions, Responses, Anthropic, SGLang: sorted, nothing else moves."""
    sent = canonicalize(dump(body | {key: [tool("z", SCHEMA), tool("a", SCHEMA)], "n": 2}))
    assert sent.body == dump(body | {key: [tool("a", FORM), tool("z", FORM)], "n": 2})
    assert set(kinds(sent)) == {"tool_order", "set_order", "keyword_order"}


@pytest.mark.parametrize(
    "body",
    [
        {"prompt": ["a", "b"], "suffix": "s"},
        {"text": "t", "sampling_params": {"max_new_tokens": 5, "json_schema": '{"required":["b","a"]}'}},
        {"input_ids": [[3, 1, 2]], "stream": True},
        {"model": "m", "input": "Hi", "text": {"format": {"type": "json_schema", "schema": SCHEMA, "strict": True}}},
        {"messages": [], "response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}},
        {"messages": [], "guided_json": SCHEMA, "structural_tag": {"required": ["b", "a"]}},
    ],
)
@pytest.mark.parametrize("level", LEVELS)
def test_bodies_with_nothing_to_bring_into_form(body: dict[str, Any], level: Level) -> None:
    """Token ids, plain prompts, and schemas outside tools: every level sends the client's bytes."""
    assert canonicalize(dump(body), level=level) == Canonical(dump(body), ())


@settings(max_examples=40)
@given(BODIES, INDENTS)
def test_each_level_includes_the_ones_before(body: dict[str, Any], indent: int | None) -> None:
    """What a lower level brought into form, a higher one does not see as different; and none undoes another."""
    raw = raw_of(body, indent)
    for lower, higher in ((low, high) for at, low in enumerate(LEVELS) for high in LEVELS[at:]):
        sent = canonicalize(raw, level=higher).body
        assert canonicalize(canonicalize(raw, level=lower).body, level=higher).body == sent
        assert canonicalize(sent, level=lower) == Canonical(sent, ())


MARKED = {"cache_control": {"type": "ephemeral"}}


def test_marked_tools_keep_their_order_for_engines_that_bill_by_breakpoints() -> None:
    """Case 12's other upstream: the array stays, what is inside the tools is brought into form all the same."""
    given_case = case(12)["input"]["A"]
    rules = Rules(keep_marked=True)
    assert canonicalize(wire(given_case), rules=rules) == Canonical(wire(given_case), ())
    sent = canonicalize(dump({"tools": [{"name": "z", **MARKED}, {"name": "a", "parameters": SCHEMA}]}), rules=rules)
    assert sent.body == dump({"tools": [{"name": "z", **MARKED}, {"name": "a", "parameters": FORM}]})
    plain = dump({"tools": [{"name": "z"}, {"name": "a", "description": 'say \\"cache_control\\"'}]})
    assert canonicalize(plain, rules=rules) == canonicalize(plain)
    assert canonicalize(plain).changed


def test_one_cache_serves_all_levels() -> None:
    """The same bytes under other rules are another entry."""
    body = parse_body(dump({"tools": [{"name": "z", **MARKED}, {"name": "a", "parameters": SCHEMA}]}))
    cache = ToolCache()
    for _ in range(2):
        for level in LEVELS:
            for rules in (Rules(), Rules(keep_marked=True)):
                assert rewrite(body, cache, level, rules) == rewrite(body, ToolCache(), level, rules)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "raw",
    [
        b'{"messages":[{"role":"system","content":null},{"role":"user","content":"Hi"}]}',
        b'{"messages":[null,7,[],"x"],"tools":[null,7,[],"x"]}',
        b'{"messages":[{"role":"user","content":"\\ud800"}],"tools":[{"name":"b"},{"name":"a"}]}',
        b'{"messages":[],"temperature":NaN,"tools":[{"name":"b"},{"name":"a"}]}',
        b'{"messages":[],"seed":123456789012345678901234567890,"x":-1E+05,"y":1.0e400}',
        b'{"messages":[],"x":1,"x":2,"logit_bias":{"7":1,"7":2}}',
        b"{}",
    ],
)
def test_bad_input_that_an_engine_might_take_passes_untouched(level: Level, raw: bytes) -> None:
    """Null system, tools that are no objects, lone surrogates, NaN, big integers, duplicates: the client's bytes."""
    rules = Rules(hoist=Hoist("rewrite", ("clock_second",)))
    assert canonicalize(raw, level=level, rules=rules) == Canonical(raw, ())


@pytest.mark.parametrize("level", LEVELS[1:])
@pytest.mark.parametrize(
    ("raw", "code", "pointer", "offset"),
    [
        (b'{"messages":', "invalid_json", "", 12),
        (b'{"messages":"\xff"}', "invalid_utf8", "", 13),
        (b'{"messages":[],"messages":[]}', "duplicate_key", "/messages", 15),
        (b'{"messages":' + b"[" * 10_000 + b"]" * 10_000 + b"}", "too_deep", None, None),
        (b'{"tools":[' + b'{"a":' * 10_000 + b"1" + b"}" * 10_000 + b"]}", "too_deep", None, None),
        (b'{"input":' + b"[" * 200 + b"]" * 200 + b"}", "too_deep", None, None),
    ],
)
def test_what_no_engine_takes_is_refused(
    level: Level, raw: bytes, code: str, pointer: str | None, offset: int | None
) -> None:
    """With a code, and where it is: the JSON pointer or the byte offset."""
    with pytest.raises(BodyError) as caught:
        canonicalize(raw, level=level)
    assert caught.value.code == code
    assert pointer in (None, caught.value.pointer)
    assert caught.value.offset is not None
    assert offset in (None, caught.value.offset)


CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"z": 1,  "a": [2.50, 1E2]}'}}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "turn",
    [
        {"role": "assistant", "content": "A \r\n", "tool_calls": [CALL]},
        {"role": "assistant", "tool_calls": [{**CALL, "function": {"name": "f", "arguments": {"z": 1, "a": 2}}}]},
        {"role": "assistant", "tool_calls": [{**CALL, "function": {"name": "f", "arguments": "not JSON \r\n"}}]},
        {"role": "assistant", "content": None, "function_call": CALL["function"]},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c", "input": {"z": 1, "a": "2026-03-03T09:14:07Z"}}],
        },
        {"role": "assistant", "content": "", "reasoning": "since Y \r\n", "reasoning_content": "cafe\u0301 "},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm \r\n", "signature": "s"}]},
        {"role": "assistant", "content": "<think>\r\n \r\n</think>x-anthropic-billing-header: cch=1;"},
        {"role": "user", "content": "It is 2026-03-03T09:14:07Z \r\n"},
        {"role": "tool", "tool_call_id": "c", "content": "Now: 2026-03-03T09:14:07Z \r\n"},
        {"role": "function", "name": "f", "content": "cafe\u0301 \r\n"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"z": 1,  "a": 2.50}'},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm \r\n"}], "encrypted_content": "e"},
    ],
)
def test_history_is_nobody_s_to_edit(level: Level, turn: dict[str, Any]) -> None:
    """Arguments in every form, reasoning, and what was said: at no level, in no shape, beside any system text."""
    system = {"role": "system", "content": "You help.\nNow: 2026-03-03T09:14:07Z"}
    rules = Rules(hoist=Hoist("rewrite", ("clock_second",)))
    for key in ("messages", "input"):
        raw = dump({"model": "m", key: [system, turn, {"role": "user", "content": "Go on \r\n"}, turn]})
        sent = canonicalize(raw, level=level, rules=rules).body
        said = [dump(part) for part in (turn, {"role": "user", "content": "Go on \r\n"})]
        assert sent == raw if turn.get("role") != "user" else all(part in sent for part in said)


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
    unknown: Any = "all"
    with pytest.raises(ConfigError, match="off, safe, normalize, hoist"):
        canonicalize(b"{}", level=unknown)
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
