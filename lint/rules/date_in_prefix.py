"""A date stands in front of text that could be shared."""

from lint.bodies import volatile
from lint.examples import HANDBOOK, QUESTIONS, asked, chat, log, one
from lint.rule import Rule
from lint.sources.examples import app, template
from lint.sources.flow import uses
from lint.traffic.checks import losses

RULE = Rule(
    code="PC102",
    name="date-in-prefix",
    severity="info",
    summary="A date stands in front of text that could be shared.",
    why=(
        "A date changes once a day, and with it everything behind it is computed once more. That is "
        "seldom worth a change; a date that varies from request to request is, and is reported as a "
        "warning."
    ),
    instead=("Leave it, or put it into the newest message. Where it varies by request, put it there in any case."),
    since="0.1.0",
    fix="unsafe",
    gateway="level: hoist\nhoist: {mode: rewrite, kinds: [date]}",
    checks=(
        uses("date", besides=("tools",)),
        losses("date", severity="info", often="warning"),
        volatile("date"),
    ),
    bad=(
        app("f'Today is {date.today()}. ' + POLICY", imports="from datetime import date"),
        app("f'{datetime.now():%Y-%m-%d} ' + POLICY", imports="from datetime import datetime"),
        template("Today is {{ strftime_now('%d %B %Y') }}."),
        asked(*(f"Today is 2026-03-0{day}.\n{HANDBOOK}" for day in (1, 1, 1, 1, 1, 1, 2, 2))),
        asked(*(f"Today is 2026-03-0{day}.\n{HANDBOOK}" for day in range(1, 7))),
        one(chat(f"Date: 3 March 2026\n{HANDBOOK}")),
        log(
            *(
                {"model": "m", "instructions": f"Date: {day} March 2026\n{HANDBOOK}", "input": "Hi"}
                for day in (3, 4, 5)
            )
        ),
        one(chat(f"Today is 2026-03-01.\n{HANDBOOK}")),
        one({"model": "m", "system": f"Current date: March 3, 2026\n{HANDBOOK}", "messages": []}),
    ),
    good=(
        app("POLICY", user="f'{date.today()} {q}'", imports="from datetime import date"),
        app("'Effective 2024-01-15. ' + POLICY"),
        template("Effective 2024-01-15.", "Today is {{ today }}."),
        asked(*[f"Today is 2026-03-01.\n{HANDBOOK}"] * 4),
        one(chat(f"The shop was founded on 3 March 2006.\n{HANDBOOK}")),
        log(*(chat(HANDBOOK, f"Today is 2026-03-0{day}. {QUESTIONS[0]}") for day in range(1, 7))),
        log(*(chat(f"{HANDBOOK}\nToday is 2026-03-0{day}.", QUESTIONS[day % 4]) for day in range(1, 7))),
        one(chat(HANDBOOK, "Today is 2026-03-01.")),
        one(chat(f"Invoices before 2019-07-01 are kept on paper.\n{HANDBOOK}")),
    ),
)
