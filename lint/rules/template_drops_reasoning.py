"""A chat template leaves the reasoning of earlier answers out."""

from lint.rule import Rule
from lint.sources.chat import drops_reasoning
from lint.sources.examples import chat_template

_THOUGHT = "{{ '<think>' + message.reasoning_content + '</think>' if message.reasoning_content else '' }}"

RULE = Rule(
    code="PC903",
    name="template-drops-reasoning",
    severity="info",
    summary="A chat template leaves the reasoning of earlier answers out.",
    why=(
        "Many reasoning models are trained to see only the newest reasoning, so their templates cut older thoughts. "
        "What was computed for an answer with its thought cannot be used for the next turn: the prompt parts where "
        "the thought was. It is meant so, and costs the answers since the last user message once."
    ),
    instead=(
        "Nothing, where the model wants it so. Some templates have a switch that keeps thoughts (`clear_thinking: "
        "false`, `preserve_thinking`); agents with long tool loops gain most from it."
    ),
    since="0.1.0",
    checks=(drops_reasoning(),),
    bad=(
        chat_template(
            "<{{ message.role }}>{% if loop.last %}" + _THOUGHT + "{% endif %}{{ message.content }}<end>",
        ),
        chat_template(
            "<{{ message.role }}>{% if loop.index0 > ns.asked %}"
            + _THOUGHT
            + "{% endif %}{{ message.content }}<end>",
            head="{% set ns = namespace(asked=0) %}{% for m in messages %}{% if m.role == 'user' %}"
            "{% set ns.asked = loop.index0 %}{% endif %}{% endfor %}",
        ),
        chat_template("<{{ message.role }}>{{ message.content }}<end>", end="<think>\n"),
    ),
    good=(
        chat_template("<{{ message.role }}>" + _THOUGHT + "{{ message.content }}<end>"),
        chat_template("<{{ message.role }}>{{ message.content }}<end>"),
        chat_template("<{{ message.role }}>{{ message.content.split('</think>')[-1] }}<end>"),
    ),
)
