"""prefix.parameters: what keeps two prompts apart though their text is the same."""

from typing import Any

import pytest

from prefix.parameters import KINDS, parameter_changes
from tests.cases import case

TOOLS = {"tools": [{"type": "function", "function": {"name": "t"}}]}


def named(name: str) -> dict[str, Any]:
    """A tool_choice that names a tool."""
    return {"type": "function", "function": {"name": name}}


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ({"model": "m"}, {"model": "n"}, ("model", "model", "m", "n")),
        ({"model": "m"}, {}, ("model", "model", "m", None)),
        ({"cache_salt": "x"}, {"cache_salt": "y"}, ("cache_salt", "namespace", "x", "y")),
        ({"lora_path": "x"}, {}, ("lora_path", "namespace", "x", None)),
        ({"extra_key": ["x"]}, {"extra_key": "x"}, ("extra_key", "namespace", '["x"]', "x")),
        (
            {"chat_template_kwargs": {"enable_thinking": True}},
            {"chat_template_kwargs": {"enable_thinking": False}},
            ("chat_template_kwargs", "template_arguments", '{"enable_thinking": true}', '{"enable_thinking": false}'),
        ),
        ({"reasoning_effort": "low"}, {}, ("reasoning_effort", "template_arguments", "low", None)),
        ({**TOOLS, "tool_choice": "none"}, TOOLS, ("tool_choice", "tool_choice", "none", "all tools")),
        ({**TOOLS, "tool_choice": {"type": "none"}}, TOOLS, ("tool_choice", "tool_choice", "none", "all tools")),
        (
            {**TOOLS, "tool_choice": named("t")},
            {**TOOLS, "tool_choice": {"type": "tool", "name": "u"}},
            ("tool_choice", "tool_choice", "t", "u"),
        ),
        (
            {"functions": [{"name": "t"}], "function_call": {"name": "t"}},
            {"functions": [{"name": "t"}]},
            ("tool_choice", "tool_choice", "t", "all tools"),
        ),
    ],
)
def test_one_change(a: dict[str, Any], b: dict[str, Any], expected: tuple[str, ...]) -> None:
    """Name, kind and both values; nothing for a body and itself."""
    assert [tuple(change) for change in parameter_changes(a, b)] == [expected]
    assert list(parameter_changes(a, a)) == list(parameter_changes(b, b)) == []


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({"temperature": 1, "stream": True, "user": "u"}, {"max_tokens": 5}),
        ({"response_format": {"type": "json_object"}}, {}),
        ({"model": None}, {}),
        ({"chat_template_kwargs": {"a": 1, "b": 2}}, {"chat_template_kwargs": {"b": 2, "a": 1}}),
        ({**TOOLS, "tool_choice": "auto"}, TOOLS),
        ({**TOOLS, "tool_choice": "auto"}, {**TOOLS, "tool_choice": "required"}),
        ({"tool_choice": "none"}, {}),
        ({**TOOLS, "tool_choice": "none"}, {}),
    ],
)
def test_what_parts_nothing(a: dict[str, Any], b: dict[str, Any]) -> None:
    """Sampling, output formats, the order of arguments, a choice that hides no tool, a choice without tools."""
    assert list(parameter_changes(a, b)) == []


def test_case_30() -> None:
    """Every pair the case names differs."""
    given_case = case(30)
    for a, b in given_case["expected"]["prefix_key_must_differ_between"]:
        (change,) = parameter_changes(given_case["input"][a], given_case["input"][b])
        assert change.kind == "tool_choice"


def test_whole_caches_come_before_templates() -> None:
    """The order is that of KINDS."""
    a = {"reasoning_effort": "low", "cache_salt": "s", "model": "m", **TOOLS, "tool_choice": "none"}
    assert tuple(change.kind for change in parameter_changes(a, {**TOOLS})) == KINDS


def test_a_value_too_deep_to_read_is_still_compared() -> None:
    """Without a recursion error."""
    deep: Any = []
    for _ in range(20_000):
        deep = [deep]
    (change,) = parameter_changes({"chat_template_kwargs": deep}, {})
    assert change.a == "nested too deep to read"
