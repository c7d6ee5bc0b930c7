"""A clock, an id or a user's text stands in the description or schema of a tool."""

from lint.examples import HANDBOOK, QUESTIONS, chat, log, tool
from lint.rule import Rule
from lint.sources.examples import app
from lint.sources.flow import uses
from lint.traffic.checks import losses

_CHANGES = "clock date id random counter state replica user".split()
_TOOL = "tools=[{{'type': 'function', 'function': {{'name': 'f', 'description': {}}}}}],"


def _described(*descriptions: str) -> list[dict[str, object]]:
    return [
        chat(HANDBOOK, QUESTIONS[at % 4], tools=[tool("order", text), tool("parcel")])
        for at, text in enumerate(descriptions)
    ]


RULE = Rule(
    code="PC404",
    name="volatile-tool-text",
    severity="error",
    summary="A clock, an id or a user's text stands in the description or schema of a tool.",
    why=(
        "Most templates print tools in front of everything else. A word of one request in one of them makes "
        "the whole prompt cold: system text, history and all. In one body alone, the same is found by what it "
        "is (clock-in-prefix, request-id-in-prefix)."
    ),
    instead=(
        "Keep tools constant. Say in the newest message who asks and when, or let the code that runs the tool add it."
    ),
    since="0.1.0",
    checks=(
        uses(*_CHANGES, where=("tools",)),
        losses("volatile_tool_text", severity="error"),
    ),
    bad=(
        app("POLICY", more=_TOOL.format("f'Now {time.time()}'"), imports="import time"),
        app("POLICY", more="tools=[tool],", imports="import time", setup="tool = {'name': 'At ' + time.ctime()}"),
        app(
            "POLICY",
            more="tools=[make(str(uuid.uuid4()))],",
            imports="import uuid\ndef make(text):\n    return {'description': text}",
        ),
        app("POLICY", more=_TOOL.format("'Writes ' + os.getcwd()"), imports="import os"),
        log(*_described(*(f"Finds orders. Now it is 2026-03-01T10:{at}:00Z." for at in range(10, 15)))),
        log(*_described(*(f"Writes /tmp/6f0c8f7e-1111-4aaa-8bbb-{at:012}/out" for at in range(7, 12)))),
        log(*_described(*(f"Finds the orders of user {name}." for name in ("Ada", "Bob", "Cleo", "Dora")))),
    ),
    good=(
        app("POLICY", more=_TOOL.format("'Says what time it is.'"), imports="import time"),
        app("POLICY", more="tools=[tool],", imports="import time", setup="tool = {'name': 'f'}\nt = time.time()"),
        app("POLICY", more="timeout=time.time() + 5,", imports="import time"),
        log(*_described(*["Finds orders by their number."] * 4)),
        log(*_described(*["Finds orders since 2026-03-01T10:10:00Z."] * 4)),
        log(*(chat(HANDBOOK, f"I am {name}.", tools=[tool("order")]) for name in ("Ada", "Bob", "Cleo", "Dora"))),
    ),
)
