"""All breakpoints of a request stand behind less than the model caches."""

from lint.bodies import breakpoint_faults
from lint.examples import HANDBOOK, QUESTIONS, claude, log, marked, one
from lint.rule import Rule
from lint.traffic.checks import notes

RULE = Rule(
    code="PC804",
    name="breakpoint-below-minimum",
    severity="warning",
    summary="All breakpoints of a request stand behind less than the model caches.",
    why=(
        "Below the minimum of a model - 512 to 4,096 tokens, see `lint/providers.py` - a breakpoint does "
        "nothing, and no error says so. Tokens are estimated, so only what is far below is reported; where "
        "sources name two minimums for a model the smaller one counts. In a log it takes three such requests."
    ),
    instead=(
        "Leave the breakpoint out, set it further back, or put more of what is constant in front of it. A smaller "
        "model of the same family may ask for more: check when changing it."
    ),
    since="0.1.0",
    checks=(notes("breakpoint_below_minimum", "warning"), breakpoint_faults("breakpoint_below_minimum")),
    bad=(
        one(claude(system=marked(HANDBOOK))),
        log(*(claude(question, system=marked(HANDBOOK)) for question in QUESTIONS)),
        one(claude(system=marked(HANDBOOK * 12), model="claude-haiku-4-5-20251001")),
        log(*(claude(marked(question), system="Be brief.") for question in QUESTIONS)),
        log(*(claude(question, system=marked(HANDBOOK * 14), model="claude-opus-4-6") for question in QUESTIONS)),
        one(claude(marked("Hi"), system="Be brief.")),
    ),
    good=(
        one(claude(system=marked(HANDBOOK * 30))),
        log(*(claude(question, system=marked(HANDBOOK * 30)) for question in QUESTIONS)),
        one(claude(system=marked(HANDBOOK), model="m")),
        one(claude(HANDBOOK * 30, "Yes.", marked("And?"), system=marked(HANDBOOK))),
        log(*(claude(question, system=marked(HANDBOOK * 30)) for question in QUESTIONS)),
        log(*(claude(question, system=marked(HANDBOOK), model="m") for question in QUESTIONS)),
        log(*(claude(question, system=marked(HANDBOOK)) for question in QUESTIONS[:2])),
    ),
)
