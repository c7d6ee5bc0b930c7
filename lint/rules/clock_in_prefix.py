"""A time of day stands in front of text that could be shared."""

from lint.bodies import volatile
from lint.examples import HANDBOOK, QUESTIONS, asked, chat, log, one
from lint.rule import Rule
from lint.sources.examples import app, prompt_file, template
from lint.sources.flow import uses
from lint.traffic.checks import losses

RULE = Rule(
    code="PC101",
    name="clock-in-prefix",
    severity="error",
    summary="A time of day stands in front of text that could be shared.",
    why=(
        "An engine reuses a cached prompt up to the first token that differs. A clock is another one with "
        "every request, so all that stands behind it - rules, tools, the whole conversation - is computed "
        "again each time."
    ),
    instead=(
        "Put the clock into the newest message, behind all that could be shared, or print the date alone. "
        "The gateway's level `hoist` can move it."
    ),
    since="0.1.0",
    fix="unsafe",
    gateway="level: hoist\nhoist: {mode: rewrite, kinds: [clock_second, clock_minute, epoch]}",
    checks=(
        uses("clock", besides=("tools",)),
        losses("clock", severity="error"),
        volatile("clock_second", "clock_minute", "epoch"),
    ),
    bad=(
        app("f'Now: {datetime.now()}. ' + POLICY", imports="from datetime import datetime"),
        app(
            "header + POLICY",
            imports="import time",
            setup="stamp = time.strftime('%H:%M')\nheader = 'Time: ' + stamp + '\\n'",
        ),
        template("Today is {{ now() }}."),
        prompt_file("Current time: {{ timestamp }}"),
        asked(*(f"Current time: 2026-03-01T10:{minute}:00Z\n{HANDBOOK}" for minute in range(10, 16))),
        asked(*(f"Now: Tuesday, 3 March 2026, 09:14:{second} AM CET\n{HANDBOOK}" for second in range(10, 16))),
        asked(*(f"timestamp={1772532847 + 61 * at}\n{HANDBOOK}" for at in range(4))),
        one(chat(f"Current time: 2026-03-01T10:10:00Z\n{HANDBOOK}")),
        one(chat(f"Now: Tuesday, 3 March 2026, 09:14:07 AM CET\n{HANDBOOK}")),
        one({"model": "m", "instructions": f"timestamp={1772532847}\n{HANDBOOK}", "input": "Hi"}),
    ),
    good=(
        app("POLICY", user="f'[{datetime.now()}] {q}'", imports="from datetime import datetime"),
        app("POLICY", setup="started = time.time()", imports="import time"),
        template("Be brief.", "It is {{ now() }}."),
        prompt_file("Be brief.", "[{timestamp}] {question}"),
        asked(*[f"Effective since 2026-03-01T10:10:00Z\n{HANDBOOK}"] * 4),
        log(*(chat(HANDBOOK, f"It is 2026-03-01T10:{minute}:00Z. {QUESTIONS[0]}") for minute in range(10, 16))),
        asked(*(f"{HANDBOOK}\nCurrent time: 2026-03-01T10:{minute}:00Z" for minute in range(10, 16))),
        one(chat(HANDBOOK, "Current time: 2026-03-01T10:10:00Z")),
        one(chat(f"Effective since 3 March 2026.\n{HANDBOOK}")),
        one({"model": "m", "instructions": HANDBOOK, "input": "It is 2026-03-01T10:10:00Z. Hello."}),
    ),
)
