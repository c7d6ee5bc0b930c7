"""A chat template prints the clock of the engine."""

from lint.rule import Rule
from lint.sources.chat import clocks
from lint.sources.examples import chat_template

_TURN = "<{{ message.role }}>{{ message.content }}<end>"

RULE = Rule(
    code="PC902",
    name="template-clock",
    severity="warning",
    summary="A chat template prints the clock of the engine.",
    why=(
        "`strftime_now` is the time of the engine's host at each request. A date makes every prompt cold once a day, "
        "at the engine's midnight, whatever the bodies are (information); a finer clock makes all prompts cold all "
        "the time (error). A clock in a branch that no conversation here reached is a warning."
    ),
    instead=(
        "Take the date from the request: templates that read `date_string` get it from `chat_template_kwargs`. Where "
        "the template calls `strftime_now` itself, serve a copy of it with a fixed date, and let the application say "
        "what day it is in the newest message."
    ),
    since="0.1.0",
    checks=(clocks(),),
    bad=(
        chat_template(_TURN, head="Today: {{ strftime_now('%d %b %Y') }}\n"),
        chat_template(_TURN, head="Now: {{ strftime_now('%H:%M') }}\n"),
        chat_template(_TURN, head="{{ date_string if date_string else strftime_now('%d %b %Y') }}\n"),
        chat_template(_TURN, head="{% if custom_date %}{{ strftime_now('%Y') }}{% endif %}"),
    ),
    good=(
        chat_template(_TURN),
        chat_template(_TURN, head="Today: {{ date_string or '26 Jul 2024' }}\n"),
        chat_template(_TURN, head="{# strftime_now would move #}Cutting knowledge: December 2023\n"),
    ),
)
