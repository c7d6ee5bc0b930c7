"""The same tools are sent in another order."""

from lint.examples import HANDBOOK, QUESTIONS, chat, log, tool
from lint.rule import Rule
from lint.sources.examples import app
from lint.sources.flow import uses
from lint.traffic.checks import losses

_NAMES = ["order", "parcel", "refund", "voucher"]


RULE = Rule(
    code="PC401",
    name="tool-order",
    severity="error",
    summary="The same tools are sent in another order.",
    why=(
        "Most chat templates print the tools ahead of everything else, so a list from a map without "
        "order, or in the order in which servers connected, makes the whole prompt cold."
    ),
    instead=("Sort them by name. The gateway's level `safe`, its default, does."),
    since="0.1.0",
    fix="safe",
    gateway="level: safe",
    checks=(
        uses("shuffled", where=("tools",)),
        losses("tool_order", severity="error"),
    ),
    bad=(
        app(
            "POLICY",
            more="tools=TOOLS,",
            setup="random.shuffle(TOOLS)",
            imports=f"import random\n\nTOOLS = {[tool(name) for name in ('order', 'refund')]!r}\n",
        ),
        app(
            "POLICY",
            more="tools=TOOLS,",
            setup="random.shuffle(TOOLS)",
            imports="import random\nfrom registry import TOOLS",
        ),
        app(
            "POLICY",
            more="tools=tools,",
            setup="tools = list(TOOLS)\nrandom.shuffle(tools)",
            imports="import random\nfrom registry import TOOLS",
        ),
        app(
            "POLICY",
            more="tools=tools,",
            setup="tools = [t for t in TOOLS]\nshuffle(tools)",
            imports="from random import shuffle\nfrom registry import TOOLS",
        ),
        log(*(chat(HANDBOOK, tools=[tool(name) for name in names]) for names in (_NAMES, _NAMES[::-1], _NAMES))),
        log(*(chat(HANDBOOK, tools=[tool(name) for name in _NAMES[at:] + _NAMES[:at]]) for at in range(3))),
        log(
            *({**chat("x"), "tools": [{"name": n, "description": HANDBOOK} for n in names]} for names in ("ab", "ba"))
        ),
    ),
    good=(
        app("POLICY", more="tools=TOOLS,", imports="from registry import TOOLS"),
        app(
            "POLICY",
            more="tools=sorted(TOOLS),",
            setup="random.shuffle(TOOLS)",
            imports="import random\nfrom registry import TOOLS",
        ),
        app(
            "POLICY",
            more="tools=TOOLS,",
            setup="random.shuffle(docs)",
            imports="import random\nfrom registry import TOOLS",
        ),
        log(*(chat(HANDBOOK, question, tools=[tool(name) for name in _NAMES]) for question in QUESTIONS)),
        log(*(chat(HANDBOOK, question, tools=[tool(name) for name in _NAMES[::-1]]) for question in QUESTIONS)),
        log(*(chat(HANDBOOK, question) for question in QUESTIONS)),
    ),
)
