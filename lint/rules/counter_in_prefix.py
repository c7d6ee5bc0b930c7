"""A counter or the state of a working directory stands in front of text that could be shared."""

from lint.bodies import volatile
from lint.examples import HANDBOOK, QUESTIONS, asked, chat, log, one
from lint.rule import Rule
from lint.sources.examples import app, template
from lint.sources.flow import uses
from lint.traffic.checks import losses

RULE = Rule(
    code="PC106",
    name="counter-in-prefix",
    severity="warning",
    summary="A counter or the state of a working directory stands in front of text that could be shared.",
    why=(
        "A turn number, a budget that shrinks, a working directory or the output of `git status` changes "
        "while a conversation goes on, and each change makes the whole history behind it cold."
    ),
    instead=("Send it at the end of the newest message, or once, as a message of its own."),
    since="0.1.0",
    fix="unsafe",
    gateway="level: hoist\nhoist: {mode: rewrite, kinds: [counter, cwd, git_state]}",
    checks=(
        uses("state", "counter", besides=("tools",)),
        losses("counter", "environment", severity="warning"),
        volatile("counter", "git_state"),
        volatile("cwd", severity="info"),
    ),
    bad=(
        app("f'Folder {os.getcwd()}. {POLICY}'", imports="import os"),
        app(
            "'Commit ' + sha + POLICY",
            imports="import subprocess",
            setup="sha = subprocess.check_output(['git', 'rev-parse', 'HEAD']).decode()",
        ),
        template("This is step {{ step }} of ten."),
        asked(*(f"Turn {at} of 20\n{HANDBOOK}" for at in range(1, 7))),
        asked(*(f"Tokens left: {9000 - 137 * at}\n{HANDBOOK}" for at in range(6))),
        one(chat(f"Current branch: main\nStatus:\n M app.py\n?? notes.txt\n\n{HANDBOOK}")),
        asked(*(f"Step {at}/12 of the plan.\n{HANDBOOK}" for at in range(1, 7))),
        one(chat(f"Working directory: /home/ada/work/shop\n{HANDBOOK}")),
        one(chat(f"Turn 3 of 20\n{HANDBOOK}")),
    ),
    good=(
        app("POLICY", user="f'{os.getcwd()}: {q}'", imports="import os"),
        app("POLICY", imports="import os", setup="log = open(os.getcwd() + '/log')"),
        template("There are ten steps.", "This is step {{ step }}."),
        asked(*[f"Answer in step 1 of 3.\n{HANDBOOK}"] * 4),
        log(*(chat(HANDBOOK, f"Turn {at} of 20. {QUESTIONS[0]}") for at in range(1, 7))),
        one(chat(HANDBOOK, "Current branch: main")),
        asked(*(f"{HANDBOOK}\nTurn {at} of 20" for at in range(1, 7))),
        one(chat(HANDBOOK, "Turn 3 of 20")),
        one(chat(f"Chapter 3 of the handbook.\n{HANDBOOK}")),
    ),
)
