"""The same JSON is spelled otherwise: other blanks, escapes or number forms."""

import json

from lint.examples import HANDBOOK, asked, chat, log, message, tool
from lint.rule import Rule
from lint.sources.examples import app
from lint.sources.flow import uses
from lint.traffic.checks import losses

_SETTINGS = {"region": "eu-west", "currency": "euro", "note": "größer als üblich", "returns": 30, "fee": 1.5}
_PLAIN = json.dumps(_SETTINGS)


def _called(arguments: str, *more: str) -> dict[str, object]:
    call = {"id": "call_1", "type": "function", "function": {"name": "order", "arguments": arguments}}
    body = chat(HANDBOOK, "Where is it?", tools=[tool("order")])
    body["messages"] += [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": HANDBOOK},
        *(message("user", text) for text in more),
    ]
    return body


RULE = Rule(
    code="PC304",
    name="json-format-drift",
    severity="warning",
    summary="The same JSON is spelled otherwise: other blanks, escapes or number forms.",
    why=(
        "An object in a text is the same value with `indent=2` or without, with `ü` or `\\u00fc`, with `1.5` "
        "or `1.50`, but not the same tokens. Two writers of one value make two prompts of it. The arguments "
        "of an earlier tool call do not count: engines parse them before a template prints them."
    ),
    instead=(
        "Write it by one function with fixed separators and escapes, and send a document that is stored as "
        "text as it is stored. Where the keys stand in another order too, it is json-key-order."
    ),
    since="0.1.0",
    fix="safe",
    checks=(uses("json_format"), losses("json_format", severity="warning")),
    bad=(
        app("json.dumps({'a': 1}, indent=2 if q else None) + POLICY", imports="import json"),
        app("json.dumps({'a': 1}, indent=user) + POLICY", imports="import json"),
        app("POLICY + json.dumps({'a': 1}, ensure_ascii=user, sort_keys=True)", imports="import json"),
        asked(*(f"Settings: {json.dumps(_SETTINGS, indent=indent)}\n{HANDBOOK}" for indent in (None, 2, None, 4))),
        asked(*(f"Settings: {json.dumps(_SETTINGS, ensure_ascii=plain)}\n{HANDBOOK}" for plain in (True, False))),
        asked(*(f"Settings: {_PLAIN.replace('1.5', fee)}\n{HANDBOOK}" for fee in ("1.5", "1.50", "1.5"))),
    ),
    good=(
        app("json.dumps({'a': 1}, indent=2) + POLICY", imports="import json"),
        app("json.dumps({'a': 1}, separators=(',', ':')) + POLICY", imports="import json"),
        app("POLICY", user="json.dumps({'a': 1}, indent=user)", imports="import json"),
        asked(*[f"Settings: {_PLAIN}\n{HANDBOOK}"] * 4),
        log(_called('{"id": "A-1", "deep": true}'), _called('{"id":"A-1","deep":true}', "And now?")),
        log(*(chat(HANDBOOK, json.dumps(_SETTINGS, indent=indent)) for indent in (None, 2, None))),
    ),
)
