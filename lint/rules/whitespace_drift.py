"""The same text is sent with other line ends, blanks or tabs."""

from lint.examples import HANDBOOK, asked, chat, log
from lint.rule import Example, Rule
from lint.sources.examples import template
from lint.sources.flow import uses
from lint.sources.prompt_text import WHITE_SPACE
from lint.traffic.checks import losses

RULE = Rule(
    code="PC301",
    name="whitespace-drift",
    severity="error",
    summary="The same text is sent with other line ends, blanks or tabs.",
    why=(
        "White space is tokens too. A file with CRLF on one machine and LF on another (an error where a file has "
        "both, for information where it has CRLF alone), or trailing blanks "
        "that an editor strips, gives two prompts that no one can tell apart, and that share nothing from "
        "there on. A block of a template that writes blanks alone does the same, and what a block's own line "
        "ends become depends on `trim_blocks` of who renders it (for information)."
    ),
    instead=(
        "Write LF and no trailing blanks where the prompt is read, and `{%-` or `-%}` at blocks of templates. In "
        "system text the gateway's level `normalize` does it."
    ),
    since="0.1.0",
    fix="safe",
    gateway="level: normalize",
    checks=(
        WHITE_SPACE,
        uses("blank", "trim"),
        losses("whitespace", severity="error"),
    ),
    bad=(
        Example("prompt.txt", "Be brief.\r\nBe kind.\n"),
        Example("prompts/agent.txt", "Be brief.  \nBe kind.\n"),
        Example("agent.prompt", "\ufeffBe brief.\n"),
        template("Be brief.\n{% if tone %}\n{% set style = tone %}\n{% endif %}"),
        template("{% for name in names %}\n{% endfor %}Be brief."),
        template("Be {% if kind %}brief. {% else %}brief.{% endif %}"),
        template("Be brief.\n{% if admin %}\nYou may refund.\n{% endif %}"),
        asked(*(HANDBOOK.replace("\n", end) for end in ("\n", "\r\n", "\n", "\r\n"))),
        asked(*(HANDBOOK.replace("\n", end, 1) for end in ("\n", " \n", "\n", "  \n"))),
        asked(*(HANDBOOK.replace("support agent", blank) for blank in ("support agent", "support\tagent"))),
    ),
    good=(
        Example("prompt.txt", "Be brief.\nBe kind.\n"),
        Example("prompts/agent.txt", "Be brief.\n\n  Be kind.\n"),
        Example("agent.prompt", "Be brief."),
        template("Be brief.\n{%- if tone %}{% set style = tone %}{% endif %}"),
        template("Be brief.\n{% if admin -%}\nYou may refund.\n{% endif -%}\n"),
        template("Be brief.", "{% if admin %}\nYou may refund.\n{% endif %}"),
        template("Be brief.{% if admin %} You may refund.{% endif %}"),
        asked(*[HANDBOOK] * 4),
        asked(*[HANDBOOK.replace("\n", "\r\n")] * 4),
        log(*(chat(HANDBOOK, f"Hello{blank}there") for blank in (" ", "\t", "\r\n"))),
    ),
)
