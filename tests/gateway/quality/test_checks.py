"""What is right and what is not, for each kind of task."""

import json
from typing import Any

import msgspec
import pytest

from gateway.quality.answer import Answer, ToolCall, parse_answer
from gateway.quality.checks import check_task, judge
from gateway.quality.tasks import AnyTask, Code, Refusal, ToolCalls, parse_suite, read_suites, request_body
from prefix.errors import ConfigError

BUILTIN = read_suites(["builtin"])


def task(**fields: Any) -> AnyTask:
    return parse_suite([json.dumps({"id": "t", "prompt": "p", **fields})], "suite")[0]


def reference(of: AnyTask) -> Answer:
    if isinstance(of, ToolCalls):
        return Answer(tool_calls=tuple(ToolCall(c.name, json.dumps(c.arguments)) for c in of.expected))
    return Answer(of.reference or "")


def test_every_task_of_the_suite_passes_with_its_reference() -> None:
    """The built-in suite is judged right by its own answers, and none of them passes for another kind's nonsense."""
    for each in BUILTIN:
        check_task(each)
        if not isinstance(each, Code):
            assert judge(each, reference(each)) is None, each.id
            if not isinstance(each, Refusal) or each.refuse:
                assert judge(each, Answer("?")) is not None, each.id


@pytest.mark.parametrize(
    ("fields", "right", "wrong"),
    [
        ({"kind": "exact", "expected": ["Oslo"]}, [" Oslo\n"], ["oslo", "Oslo, Norway", ""]),
        ({"kind": "exact", "expected": ["Oslo", "Oslo."], "ignore_case": True}, ["OSLO."], ["Bergen"]),
        ({"kind": "regex", "pattern": r"\b42\b"}, ["it is 42, I think"], ["142", ""]),
        ({"kind": "regex", "pattern": r"\d+", "full": True}, ["42"], ["42 "[:2] + "!"]),
        (
            {"kind": "numeric", "expected": 1234.5},
            ["so it is 1,234.5", "2 + 2 is 4, but here 1234.50."],
            ["1234", "none"],
        ),
        ({"kind": "numeric", "expected": -3, "tolerance": 0.1}, ["−3.05", "-3"], ["3", "-3.2"]),
        ({"kind": "numeric", "expected": 1000, "relative": 0.01}, ["1009", "9.95e2"], ["1011"]),
        (
            {"kind": "json_schema", "schema": {"type": "object", "required": ["a"]}},
            ['{"a": 1}', 'Here:\n```json\n{"a": 1}\n```'],
            ["{}", "[1]", "a = 1", '{"a": 1', ""],
        ),
        ({"kind": "json_schema", "schema": {}, "equals": {"a": [1]}}, ['{"a":[1.0]}'], ['{"a":[2]}']),
        ({"kind": "json_schema", "schema": {}, "equals": None}, ["null"], ["0"]),
        (
            {"kind": "refusal", "refuse": True},
            ["I'm sorry, but I can't help with that.", "I can’t assist with this.", "I cannot provide instructions."],
            ["First, take a pipe.", "Sure! I can help with that."],
        ),
        ({"kind": "refusal", "refuse": False}, ["Use kill -9."], ["I won't help with killing."]),
        ({"kind": "language", "script": "GEORGIAN"}, ["პური"], ["bread", ""]),
        (
            {"kind": "language", "words": ["na", "ya"], "least": 2},
            ["unga na maji ya moto"],
            ["bread and water na", ""],
        ),
    ],
)
def test_what_is_right(fields: dict[str, Any], right: list[str], wrong: list[str]) -> None:
    """Right answers pass and wrong ones are told what is wrong."""
    for text in right:
        assert judge(task(**fields), Answer(text)) is None, text
    for text in wrong:
        assert judge(task(**fields), Answer(text)), text


def test_tool_calls_are_compared_by_value() -> None:
    """Neither the order of calls nor the spelling of their arguments counts; a missing or further call does."""
    wanted = task(kind="tool_call", expected=[{"name": "f", "arguments": {"a": 1, "b": "x"}}, {"name": "g"}])
    f, g = ToolCall("f", '{ "b": "x",\n"a": 1}'), ToolCall("g", "")
    assert judge(wanted, Answer(tool_calls=(g, f))) is None
    for calls in ((f,), (f, g, g), (ToolCall("f", '{"a":1'), g), ()):
        assert judge(wanted, Answer(tool_calls=calls)) is not None


def test_a_refusal_of_the_api_is_one() -> None:
    """`refusal` and `content_filter` decline whatever the text says."""
    wanted = task(kind="refusal", refuse=True)
    assert judge(wanted, Answer("Sure", refusal="no")) is None
    assert judge(wanted, Answer("", finish_reason="content_filter")) is None


def test_a_completion_is_read_without_its_thoughts() -> None:
    """Text, calls, refusal; what is no completion is an error and no traceback."""
    message = {"content": "<think>4?</think>\n4", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}
    whole = parse_answer(msgspec.json.encode({"choices": [{"message": message, "finish_reason": "stop"}]}))
    assert (whole.text, whole.tool_calls, whole.error) == ("4", (ToolCall("f", "{}"),), None)
    for body in (b"", b"{}", b'{"choices":[]}', b'{"choices":[{}]}', b"<html>"):
        assert parse_answer(body).error


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (["", '{"id": 1}'], "s:2: not a task"),
        (['{"id":"a","kind":"exat","prompt":"p"}'], "s:1: not a task"),
        (['{"id":"a","kind":"exact","prompt":"p","expected":["x"],"expcted":1}'], "expcted"),
        (['{"id":"a","kind":"exact","expected":["x"]}'], "either a prompt or messages"),
        ([], "holds no task"),
    ],
)
def test_lines_that_are_no_tasks(lines: list[str], says: str) -> None:
    """File, line and what is wrong."""
    with pytest.raises(ConfigError, match=says):
        parse_suite(lines, "s")


def test_tasks_that_cannot_be_judged_are_refused() -> None:
    """A pattern or a schema that is none is found before anything is asked."""
    for bad in (task(kind="regex", pattern="("), task(kind="json_schema", schema={"type": "objekt"})):
        with pytest.raises(ConfigError, match="task t"):
            check_task(bad)


def test_a_tasks_own_members_win() -> None:
    """What the command sets for all, a task may set for itself."""
    one = task(kind="exact", expected=["x"], system="s", body={"max_tokens": 5})
    body = request_body(one, "m", 3, max_tokens=100, temperature=0)
    assert (body["max_tokens"], body["temperature"], body["seed"]) == (5, 0, 3)
    assert [each["role"] for each in body["messages"]] == ["system", "user"]
