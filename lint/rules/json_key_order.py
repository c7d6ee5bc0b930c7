"""The same JSON is sent with its keys in another order."""

import json
from typing import Any

from lint.examples import HANDBOOK, QUESTIONS, asked, chat, log, tool
from lint.rule import Rule
from lint.sources.examples import app
from lint.sources.flow import uses
from lint.traffic.checks import losses

_TOOL = list(tool("order").items())
_SCHEMA: list[tuple[str, Any]] = list(
    {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}.items()
)
_SETTINGS = [("region", "eu-west"), ("currency", "euro"), ("language", "english"), ("returns", "thirty days")]


RULE = Rule(
    code="PC303",
    name="json-key-order",
    severity="error",
    summary="The same JSON is sent with its keys in another order.",
    why=(
        "A schema, an argument or a settings object in a text is the same value in any key order, but not "
        "the same tokens. Maps without a fixed order and two JSON writers make it drift."
    ),
    instead=(
        "Write it by one function, with sorted keys and fixed separators (`json.dumps(..., "
        "sort_keys=True)`). Keep arguments of earlier tool calls as the model wrote them. In tool schemas "
        "the gateway's level `safe` orders keywords."
    ),
    since="0.1.0",
    fix="safe",
    gateway="level: safe",
    checks=(
        uses("json_order"),
        losses("key_order", severity="error"),
    ),
    bad=(
        app("'Settings: ' + json.dumps(docs) + POLICY", imports="import json"),
        app("f'{json.dumps(user, indent=2)}'", imports="import json"),
        app("POLICY + text", imports="from json import dumps as write", setup="text = write(history)"),
        log(*(chat(HANDBOOK, tools=[tool("order", **dict(items))]) for items in (_SCHEMA, _SCHEMA[::-1], _SCHEMA))),
        log(*(chat(HANDBOOK, tools=[dict(items)], model="gpt-4o") for items in (_TOOL, _TOOL[::-1], _TOOL))),
        asked(*(f"Settings: {json.dumps(dict(items))}\n{HANDBOOK}" for items in (_SETTINGS, _SETTINGS[::-1]))),
        asked(
            *(
                f"Settings: {json.dumps(dict(_SETTINGS[at:] + _SETTINGS[:at]), indent=at)}\n{HANDBOOK}"
                for at in (0, 2)
            )
        ),
    ),
    good=(
        app("'Settings: ' + json.dumps(docs, sort_keys=True) + POLICY", imports="import json"),
        app("POLICY + json.dumps({'a': 1, 'b': 2})", imports="import json"),
        app("POLICY", user="json.dumps(docs)", imports="import json"),
        log(*(chat(HANDBOOK, question, tools=[dict(_TOOL)]) for question in QUESTIONS)),
        asked(*[f"Settings: {json.dumps(dict(_SETTINGS))}\n{HANDBOOK}"] * 4),
        log(
            *(
                chat(HANDBOOK, question, tools=[dict(_TOOL[:: 1 - at % 2 * 2])])
                for at, question in enumerate(QUESTIONS)
            )
        ),
        log(*(chat(HANDBOOK, json.dumps(dict(items))) for items in (_SETTINGS, _SETTINGS[::-1]))),
    ),
)
