"""A chat template writes an earlier part of a conversation otherwise once the conversation goes on."""

from lint.rule import Rule
from lint.sources.chat import rewritten
from lint.sources.examples import chat_template

RULE = Rule(
    code="PC901",
    name="template-not-monotone",
    severity="error",
    summary="A chat template writes an earlier part of a conversation otherwise once the conversation goes on.",
    why=(
        "An engine finds a prompt again only as far as it is the beginning of the next one. A template that puts the "
        "tools before the *last* user message, or closes the last message in another way than the others, moves text "
        "at every turn: the bodies only grow, and still the whole conversation is computed again. Where only the "
        "generation prompt is missing in the history (an empty `<think>` block), the newest answer is lost each time."
    ),
    instead=(
        "Use a template in which each message is written by itself: tools and system text at the front, a generation "
        "prompt that the history repeats. Engines take another one with `--chat-template`. No gateway can mend it."
    ),
    since="0.1.0",
    checks=(rewritten(),),
    bad=(
        chat_template(
            "{% if loop.last and tools %}[TOOLS] {{ tools | tojson }}{% endif %}"
            "{{ message.role }}: {{ message.content }}"
        ),
        chat_template("{{ message.role }}: {{ message.content }}{% if not loop.last %} (old){% endif %}\n"),
        chat_template(
            "{{ message.role }}: {{ message.content }}<end>",
            end="{% if enable_thinking is false %}<think></think>{% endif %}",
        ),
        chat_template("{{ message.content }}", head="{{ messages | length }} messages\n"),
    ),
    good=(
        chat_template("<{{ message.role }}>{{ message.content }}<end>"),
        chat_template(
            "<{{ message.role }}>{{ message.content }}{{ message.tool_calls | tojson if message.tool_calls else '' }}"
            "<end>",
            head="{{ tools | tojson if tools else '' }}",
        ),
        chat_template(
            "{{ '<user>' if message.role == 'user' else '<assistant>' }}{{ message.content }}{{ eos_token }}"
        ),
    ),
)
