"""A tool is sent with every request and never called."""

from typing import Any

from lint.examples import HANDBOOK, chat, entry, log, tool
from lint.rule import Rule
from lint.traffic.checks import notes

_NAMES = ("order", "parcel", "refund")


def _calling(*names: str) -> list[dict[str, Any]]:
    """Requests with three tools, answered by calls of these in turn."""
    return [
        entry(chat(HANDBOOK, f"Question {at}", tools=[tool(name) for name in _NAMES]), _call(names[at % len(names)]))
        for at in range(30)
    ]


def _call(name: str) -> dict[str, Any]:
    function = {"name": name, "arguments": "{}"}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "type": "function", "function": function}],
    }


def _went_on(name: str) -> dict[str, Any]:
    body = chat(HANDBOOK, "Where is it?", tools=[tool(known) for known in _NAMES])
    body["messages"] += [_call(name), {"role": "tool", "tool_call_id": "c", "content": "{}"}]
    return body


RULE = Rule(
    code="PC405",
    name="dead-tool",
    severity="info",
    summary="A tool is sent with every request and never called.",
    why=(
        "Its description and schema stand in front of every prompt: paid, and held in the cache, each time. "
        "Said only when enough calls of the other tools were seen, in responses or in the history, to miss "
        "this one."
    ),
    instead=(
        "Take it out for all requests of the route, at once: a tool that comes and goes costs more than one that is "
        "always there."
    ),
    since="0.1.0",
    checks=(notes("dead_tool", "info"),),
    bad=(
        log(*_calling("order")),
        log(*_calling("order", "parcel")),
        log(*(_went_on(("order", "refund")[at % 2]) for at in range(30))),
    ),
    good=(
        log(*_calling("order", "parcel", "refund")),
        log(*_calling("order")[:8]),
        log(*(chat(HANDBOOK, f"Question {at}", tools=[tool(name) for name in _NAMES]) for at in range(30))),
    ),
)
