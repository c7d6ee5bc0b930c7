"""Text that varies stands in front of text that is always the same."""

from lint.examples import HANDBOOK, QUESTIONS, asked, chat, log
from lint.rule import Rule
from lint.sources.examples import prompt_file, template
from lint.sources.flow import uses
from lint.traffic.checks import losses

RULE = Rule(
    code="PC201",
    name="variable-before-static",
    severity="warning",
    summary="Text that varies stands in front of text that is always the same.",
    why=(
        "What is the same in all requests can only be shared up to the first word that is not. A "
        "tone, a place or a question ahead of the instructions makes the "
        "instructions cold. No pattern is looked for: text that comes again behind the place where two "
        "prompts part was lost."
    ),
    instead=("Put what is the same in all prompts first and what varies behind it, the most variable last."),
    since="0.1.0",
    fix="unsafe",
    checks=(
        uses("variable"),
        losses(
            "text", "system_text", "new_message", "other_conversation", "token_ids", severity="warning", often="error"
        ),
    ),
    bad=(
        template("Answer for {{ region_code }}."),
        template("{% set area = zone %}{{ area }}"),
        prompt_file("Answer for {region_code}."),
        asked(*(f"Speak as they do in {place}.\n{HANDBOOK}" for place in ("Oslo", "Rome", "Paris", "Vienna"))),
        log(*(chat("Be brief.", f"{question}\n\nAnswer by these rules:\n{HANDBOOK}") for question in QUESTIONS)),
        log(*({"model": "m", "prompt": f"Question: {question}\n{HANDBOOK}"} for question in QUESTIONS)),
    ),
    good=(
        template("Be brief.", "Answer for {{ region_code }}."),
        template("{% if vip %}Be kind.{% endif %}"),
        prompt_file("Be brief.", "{region_code} {question}"),
        asked(*[HANDBOOK] * 4),
        asked(*(f"{HANDBOOK}\nThe customer is called {name}." for name in ("Ada", "Grace", "Edsger", "Barbara"))),
        log(*({"model": "m", "prompt": f"{HANDBOOK}\nQuestion: {question}"} for question in QUESTIONS)),
    ),
)
