"""The same text is sent in another Unicode form."""

import unicodedata

from lint.examples import HANDBOOK, asked, chat, log
from lint.rule import Example, Rule
from lint.sources.prompt_text import UNICODE_FORM
from lint.traffic.checks import losses

RULE = Rule(
    code="PC302",
    name="unicode-form",
    severity="warning",
    summary="The same text is sent in another Unicode form.",
    why=(
        "An accented letter can be one code point or two, and a blank can be one of many. They look alike "
        "and are other tokens to most tokenizers."
    ),
    instead=(
        "Normalise to NFC where the prompt is read, and take out invisible characters. In system text the "
        "gateway's level `normalize` composes it."
    ),
    since="0.1.0",
    fix="safe",
    gateway="level: normalize",
    checks=(
        UNICODE_FORM,
        losses("unicode_form", severity="warning"),
    ),
    bad=(
        Example("prompt.txt", "Cafe\u0301\n"),
        Example("prompts/agent.txt", "Be brief.\nU\u0308ber\n"),
        Example("agent.prompt", "\u212b"),
        asked(*(unicodedata.normalize(form, f"Le café était fermé.\n{HANDBOOK}") for form in ("NFC", "NFD", "NFC"))),
        asked(*(f"Zero{blank}Width policy.\n{HANDBOOK}" for blank in ("", "\u200b", ""))),
        asked(*(f"Support{blank}agent policy.\n{HANDBOOK}" for blank in (" ", "\u00a0", " "))),
    ),
    good=(
        Example("prompt.txt", "Caf\xe9\n"),
        Example("prompts/agent.txt", "Be brief.\n"),
        Example("agent.prompt", "\xdcber"),
        asked(*[f"Le café était fermé.\n{HANDBOOK}"] * 4),
        asked(*[unicodedata.normalize("NFD", f"Le café était fermé.\n{HANDBOOK}")] * 4),
        log(*(chat(HANDBOOK, unicodedata.normalize(form, "fermé")) for form in ("NFC", "NFD"))),
    ),
)
