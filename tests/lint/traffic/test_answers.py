"""lint.traffic.answers: one form for what was generated and what is sent back."""

import json
from typing import Any

import pytest

from lint.traffic.answers import Call, Said, answered, sent_back

CALL = {"id": "c", "type": "function", "function": {"name": "order", "arguments": '{"id": 1}'}}
SAYS = {"role": "assistant", "content": "Hello."}
CALLS = {"role": "assistant", "content": None, "tool_calls": [CALL]}
ANTHROPIC = {
    "role": "assistant",
    "content": [{"type": "thinking", "thinking": "?"}, {"type": "text", "text": "Hello."}],
}
USES = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "order", "input": {"id": 1}}]}
ITEM = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]}
FUNCTION = {"type": "function_call", "call_id": "c", "name": "order", "arguments": '{"id": 1}'}
TEXT = Said("Hello.", (), False)
ORDER = Said("", (Call("order", {"id": 1}, '{"id": 1}'),), False)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"choices": [{"message": SAYS}]}, TEXT),
        ({"choices": [{"message": CALLS}]}, ORDER),
        ({"choices": [{"message": SAYS}, {"message": SAYS}]}, None),
        (ANTHROPIC, TEXT),
        (USES, Said("", (Call("order", {"id": 1}, None),), False)),
        ({"output": [{"type": "reasoning"}, ITEM]}, TEXT),
        ({"output": [FUNCTION]}, ORDER),
        ({"output": {"message": {"role": "assistant", "content": [{"text": "Hello."}]}}}, TEXT),
        ({"content": [{"toolUse": {"name": "order", "input": {}}}]}, Said("", (Call("order", {}, None),), False)),
        ("Hello.", TEXT),
        (json.dumps({"choices": [{"message": SAYS}]}), TEXT),
        ('{"total": 3}', Said('{"total": 3}', (), False)),
        ("{Hello", Said("{Hello", (), False)),
        ('data: {"choices": []}\n\n', None),
        ([SAYS], TEXT),
        ({"content": "<think>Hm</think>\n\nHello."}, Said("Hello.", (), True)),
        ({"error": "overloaded"}, None),
        ({"choices": [{"message": {"content": ""}}]}, None),
        (["data: {}"], None),
        (None, None),
    ],
)
def test_answers(answer: Any, expected: Said | None) -> None:
    """Of every API; None for several choices, errors, and what is not understood."""
    assert answered(answer) == expected


@pytest.mark.parametrize("turns", [[SAYS], [ANTHROPIC], [ITEM], [{"role": "assistant", "content": ["Hello."]}]])
def test_what_is_sent_back(turns: list[Any]) -> None:
    """Is read by the same rules."""
    expected = None if turns[0]["content"] == ["Hello."] else TEXT
    assert sent_back([{"role": "user"}, *turns, {"role": "user", "content": "x"}], 1) == expected


def test_items_belong_together() -> None:
    """Text and calls that the Responses API keeps as items; nothing where no answer stands."""
    assert sent_back([ITEM, FUNCTION, {"type": "function_call_output"}], 0) == Said("Hello.", ORDER.calls, False)
    assert sent_back([{"role": "user", "content": "x"}], 0) is None
    assert sent_back([], 3) is None


def test_arguments_that_are_no_json() -> None:
    """Stay the text they are."""
    broken = {"role": "assistant", "tool_calls": [{"function": {"name": "t", "arguments": "{"}}, "odd"]}
    assert answered(broken) == Said("", (Call("t", "{", "{"),), False)
