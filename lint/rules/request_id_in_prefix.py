"""An id of the request stands in front of text that could be shared."""

from lint.bodies import volatile
from lint.examples import HANDBOOK, asked, chat, log, one, tool
from lint.rule import Rule
from lint.sources.examples import app, prompt_file, template
from lint.sources.flow import uses
from lint.traffic.checks import losses

RULE = Rule(
    code="PC103",
    name="request-id-in-prefix",
    severity="error",
    summary="An id of the request stands in front of text that could be shared.",
    why=(
        "A UUID, a trace id, a nonce or a checksum line is new in every request. The model has no use for "
        "it, and the cache ends in front of it."
    ),
    instead=(
        "Leave it out, or send it as a header or in `metadata`. The gateway's level `normalize` strips "
        "the accounting lines of known clients."
    ),
    since="0.1.0",
    fix="unsafe",
    gateway="level: hoist\nhoist: {mode: rewrite, kinds: [uuid, hex_id]}",
    checks=(
        uses("id", besides=("tools",)),
        losses("request_id", "attribution", severity="error"),
        volatile("uuid", "hex_id", in_files="info"),
        volatile("attribution"),
    ),
    bad=(
        app("'Request {}. '.format(rid) + POLICY", imports="import uuid", setup="rid = uuid.uuid4()"),
        app("'%s %s' % (secrets.token_hex(8), POLICY)", imports="import secrets"),
        prompt_file("Session: {session_id}"),
        asked(*(f"Request id: 6f0c8f7e-1111-4aaa-8bbb-{at:012}\n{HANDBOOK}" for at in range(123, 127))),
        one(chat(f"Request id: 6f0c8f7e-1111-4aaa-8bbb-000000000001\n{HANDBOOK}")),
        one(chat(HANDBOOK, tools=[tool("order", "Writes /tmp/6f0c8f7e-1111-4aaa-8bbb-000000000001/out")])),
        asked(*(f"trace={at * 0x9E3779B97F4A7C15 % 2**64:016x}\n{HANDBOOK}" for at in range(1, 6))),
        log(*(chat(HANDBOOK.replace("shop", f"shop (req_{at * 7919 % 99991:08x})", 1)) for at in range(1, 6))),
        one({"model": "m", "system": f"Session 6f0c8f7e-1111-4aaa-8bbb-000000000001\n{HANDBOOK}", "messages": []}),
    ),
    good=(
        app(
            "POLICY",
            imports="import uuid",
            setup="trace = str(uuid.uuid4())",
            more="extra_headers={'x-trace': trace},",
        ),
        app("POLICY", imports="import uuid", user="f'{uuid.uuid4()} {q}'"),
        template("Be brief.", "Session {{ session_id }}"),
        asked(*[f"Tenant 6f0c8f7e-1111-4aaa-8bbb-000000000001\n{HANDBOOK}"] * 4),
        log(*(chat(HANDBOOK, f"Request 6f0c8f7e-1111-4aaa-8bbb-{at:012}") for at in range(4))),
        one(chat(HANDBOOK, "Request id: 6f0c8f7e-1111-4aaa-8bbb-000000000001")),
        asked(*(f"{HANDBOOK}\nRequest id: 6f0c8f7e-1111-4aaa-8bbb-{at:012}" for at in range(123, 127))),
        one(chat(HANDBOOK, tools=[tool("order", "Ids look like A-17.")])),
        one(chat(f"The colour of the shop is #1a2b3c.\n{HANDBOOK}")),
    ),
)
