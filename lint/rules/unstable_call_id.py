"""The ids of earlier tool calls are made anew for each request."""

from typing import Any

from lint.examples import HANDBOOK, chat, log, message, tool
from lint.rule import Rule
from lint.traffic.checks import losses


def _turn(ids: str, *more: str, shape: str = "chat") -> dict[str, Any]:
    """A conversation with one call. ids: of the call."""
    body = chat(HANDBOOK, "Where is A-17?", tools=[tool("order")])
    function = {"name": "order", "arguments": '{"id": "A-17"}'}
    if shape == "chat":
        calls = [{"id": ids, "type": "function", "function": function}]
        called: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": calls}
        result = {"role": "tool", "tool_call_id": ids, "content": HANDBOOK}
    else:
        called = message("assistant", [{"type": "tool_use", "id": ids, "name": "order", "input": {"id": "A-17"}}])
        result = message("user", [{"type": "tool_result", "tool_use_id": ids, "content": HANDBOOK}])
    body["messages"] += [called, result, *(message("user", text) for text in more)]
    return body


RULE = Rule(
    code="PC505",
    name="unstable-call-id",
    severity="warning",
    summary="The ids of earlier tool calls are made anew for each request.",
    why=(
        "A framework that keeps its own history and builds the API's messages from it may give old calls new "
        "ids each time. Templates that print ids (Mistral's, Kimi K2's) and hosted APIs then find the cache "
        "only up to the first call; templates that print none (Qwen's, Llama's) are not touched by it."
    ),
    instead="Keep the id that the model's answer came with, or derive it from the call: its place, a hash.",
    since="0.1.0",
    checks=(losses("call_id", severity="warning"),),
    bad=(
        log(_turn("call_8f3k2m"), _turn("call_q9z7x1", "And now?")),
        log(*(_turn(f"call_{at * 7919:06}", *["And now?"] * at) for at in range(1, 5))),
        log(_turn("toolu_01A9", shape="anthropic"), _turn("toolu_77Xz", "And now?", shape="anthropic")),
    ),
    good=(
        log(_turn("call_8f3k2m"), _turn("call_8f3k2m", "And now?")),
        log(*(_turn("call_1", *["And now?"] * at) for at in range(1, 5))),
        log(_turn("toolu_01A9", shape="anthropic"), _turn("toolu_01A9", "And now?", shape="anthropic")),
    ),
)
