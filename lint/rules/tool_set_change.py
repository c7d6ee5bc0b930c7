"""Tools come and go between requests of one template."""

from lint.examples import HANDBOOK, QUESTIONS, chat, log, tool
from lint.rule import Rule
from lint.traffic.checks import losses

_NAMES = ["order", "parcel", "refund", "voucher"]


RULE = Rule(
    code="PC402",
    name="tool-set-change",
    severity="warning",
    summary="Tools come and go between requests of one template.",
    why=(
        "A tool that is added or taken away changes the front of the prompt, and with it everything "
        "behind, the whole conversation too."
    ),
    instead=(
        "Send the same tools with every request of a route, and say in the newest message which of them "
        "to use; or restrict the choice by `tool_choice` where the template does not print it."
    ),
    since="0.1.0",
    checks=(losses("tool_set", severity="warning"),),
    bad=(
        log(*(chat(HANDBOOK, tools=[tool(name) for name in names]) for names in (_NAMES, _NAMES[1:], _NAMES[2:]))),
        log(*(chat(HANDBOOK, tools=[tool(name) for name in names]) for names in (_NAMES[1:], _NAMES))),
        log(*(chat(HANDBOOK, tools=[tool(name) for name in names]) for names in (["other", "order"], ["order"]))),
    ),
    good=(
        log(*(chat(HANDBOOK, question, tools=[tool(name) for name in _NAMES]) for question in QUESTIONS)),
        log(*(chat(HANDBOOK, question, tools=[tool("order")]) for question in QUESTIONS)),
        log(*(chat(HANDBOOK, question) for question in QUESTIONS)),
    ),
)
