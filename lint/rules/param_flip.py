"""A conversation goes on with another tool choice or other template arguments."""

from typing import Any

from lint.examples import HANDBOOK, chat, log, tool
from lint.rule import Rule
from lint.sources.examples import app
from lint.sources.flow import uses
from lint.traffic.checks import losses, notes

_TURNS = [
    f"Turn {at}: the parcel with the {at * 7} blue shoes is still not here, what do you advise?" for at in range(16)
]


def _body(at: int, **members: Any) -> dict[str, Any]:
    return chat(HANDBOOK, *_TURNS[: 2 * at + 1], tools=[tool("order")], **members)


RULE = Rule(
    code="PC603",
    name="param-flip",
    severity="warning",
    summary="A conversation goes on with another tool choice or other template arguments.",
    why=(
        "Chat templates print other text for them: a named `tool_choice` shows that tool alone, `none` "
        "shows none, and thinking or effort settings change the front of the prompt."
    ),
    instead=("Keep them for a whole conversation; say in the newest message which tool to use."),
    since="0.1.0",
    checks=(
        uses("choice"),
        losses("tool_choice", "template_arguments", severity="warning"),
        notes("param_flip", "warning"),
    ),
    bad=(
        app("POLICY", more="tool_choice=user,", imports="", setup=""),
        app(
            "POLICY", more="tool_choice=choice,", imports="", setup="choice = {'type': 'function', 'function': user}"
        ),
        app("POLICY", more="tool_choice=random.choice(['auto', 'none']),", imports="import random", setup=""),
        log(*(_body(at, tool_choice=choice) for at, choice in enumerate(["auto", "auto", "none"]))),
        log(*(_body(at, reasoning_effort=effort) for at, effort in enumerate(["low", "high", "low"]))),
        log(*(_body(at, chat_template_kwargs={"enable_thinking": at > 1}) for at in range(4))),
    ),
    good=(
        app("POLICY", more="tool_choice='auto',", imports="", setup=""),
        app("POLICY", more="", imports="", setup=""),
        app("POLICY", more="tool_choice=CHOICE,", imports="from shapes import CHOICE", setup=""),
        log(*(_body(at, tool_choice="auto") for at in range(4))),
        log(*(_body(at, reasoning_effort="low") for at in range(4))),
        log(_body(0), _body(1, tool_choice="auto"), _body(2)),
    ),
)
