"""What the requests of a template share is shorter than what the provider caches."""

from lint.examples import HANDBOOK, QUESTIONS, chat, claude, log
from lint.providers import LOOKED_UP
from lint.rule import Rule
from lint.traffic.checks import notes

_QUESTIONS = [f"{question} Order {at}, please." for at, question in enumerate(QUESTIONS * 2)]

RULE = Rule(
    code="PC205",
    name="prefix-below-minimum",
    severity="info",
    summary="What the requests of a template share is shorter than what the provider caches.",
    why=(
        "OpenAI caches prefixes of 1,024 tokens and more, Anthropic's models of 512 to 4,096: what is shorter is "
        "computed, and paid, each time, whatever its form. SGLang and vLLM cache every page of a few tokens, so for "
        f"models on them nothing is reported. (Numbers of {LOOKED_UP}: `lint/providers.py`.)"
    ),
    instead=(
        "Leave it, or put more of what is constant in front: examples, the schema, reference text. Where several "
        "routes share a beginning, one template for all of them may reach the minimum."
    ),
    since="0.1.0",
    checks=(notes("below_minimum", "info"),),
    bad=(
        log(*(chat(HANDBOOK, question, model="gpt-4o") for question in _QUESTIONS)),
        log(*(claude(question, system=HANDBOOK) for question in _QUESTIONS)),
        log(*(claude(question, system=HANDBOOK * 10, model="claude-haiku-4-5") for question in _QUESTIONS)),
    ),
    good=(
        log(*(chat(HANDBOOK, question, model="Qwen/Qwen3-8B") for question in _QUESTIONS)),
        log(*(chat(HANDBOOK * 15, question, model="gpt-4o") for question in _QUESTIONS)),
        log(*(claude(question) for question in _QUESTIONS)),
    ),
)
