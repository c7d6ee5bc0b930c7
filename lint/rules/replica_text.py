"""A host name or process id makes one prefix per replica of the client."""

from lint.bodies import volatile
from lint.examples import HANDBOOK, asked, chat, one
from lint.rule import Rule
from lint.sources.examples import app
from lint.sources.flow import uses
from lint.traffic.checks import losses

RULE = Rule(
    code="PC107",
    name="replica-text",
    severity="warning",
    summary="A host name or process id makes one prefix per replica of the client.",
    why=(
        "Every replica of the client writes a prompt of its own, so their requests share nothing behind "
        "it: the cache holds the same text once per replica."
    ),
    instead=("Leave it out of the prompt; log it instead."),
    since="0.1.0",
    gateway="level: hoist\nhoist: {mode: rewrite, kinds: [hostname]}",
    checks=(
        uses("replica", besides=("tools",)),
        losses("hostname", severity="warning"),
        volatile("hostname", in_files="info"),
    ),
    bad=(
        app("f'Served by {socket.gethostname()}. {POLICY}'", imports="import socket"),
        app("RUN + POLICY", imports="import uuid\nRUN = str(uuid.uuid4())"),
        app("'pid %d ' % os.getpid() + POLICY", imports="import os"),
        asked(*(f"Hostname: web-7f9c4d5b6-x{at}k2p\n{HANDBOOK}" for at in "2468")),
        asked(*(f"Running on host worker-{at}.internal\n{HANDBOOK}" for at in range(1, 5))),
        one(chat(f"Hostname: web-7f9c4d5b6-x2k2p\n{HANDBOOK}")),
        asked(*(f"Pod: support-6d4f9c7b8d-{name}\n{HANDBOOK}" for name in ("x7k2p", "b9z4q", "m3w8r", "t5v6n"))),
        one(chat(f"Pod: support-6d4f9c7b8d-x7k2p\n{HANDBOOK}")),
        one({"model": "m", "system": f"Hostname: web-7f9c4d5b6-x2k2p\n{HANDBOOK}", "messages": []}),
    ),
    good=(
        app("POLICY", imports="import socket", more="extra_headers={'x-host': socket.gethostname()},"),
        app("POLICY", imports="import os", user="f'{os.getpid()} {q}'"),
        app("NAME + POLICY", imports="NAME = 'shop'"),
        asked(*[f"Hostname: web-7f9c4d5b6-x2k2p\n{HANDBOOK}"] * 4),
        one(chat(f"Orders are kept at shop.example.com.\n{HANDBOOK}")),
        one(chat(HANDBOOK, "Hostname: web-7f9c4d5b6-x2k2p")),
        asked(*(f"{HANDBOOK}\nHostname: web-7f9c4d5b6-x{at}k2p" for at in "2468")),
        asked(*[HANDBOOK] * 4),
        one(chat(HANDBOOK, "I am on host worker-7.internal")),
    ),
)
