"""A long prompt of an API that caches by breakpoints has none."""

from lint.bodies import breakpoint_faults
from lint.examples import HANDBOOK, QUESTIONS, chat, claude, log, marked, one
from lint.rule import Rule
from lint.sources.examples import anthropic, blocks
from lint.sources.flow import uses
from lint.traffic.checks import notes

RULE = Rule(
    code="PC801",
    name="no-breakpoint",
    severity="warning",
    summary="A long prompt of an API that caches by breakpoints has none.",
    why=(
        "Anthropic and Bedrock cache what a breakpoint (`cache_control`, `cachePoint`) stands behind, and "
        "nothing else: tools and system text without one are computed and paid with every request. Judged by "
        "the model's name: for models on SGLang, vLLM or OpenAI, which need no breakpoints, nothing is said."
    ),
    instead=(
        "Put one behind the system text and one on the newest message, or a top-level `cache_control`, which "
        "does the latter by itself."
    ),
    since="0.1.0",
    checks=(uses("no_breakpoint"), notes("no_breakpoint", "warning"), breakpoint_faults("no_breakpoint")),
    bad=(
        anthropic("POLICY"),
        anthropic("[{'type': 'text', 'text': POLICY}]"),
        anthropic("'Be brief.'", tools="[{'name': 'f', 'description': POLICY, 'input_schema': {}}]"),
        one(claude()),
        log(*(claude(question) for question in QUESTIONS)),
        one({"modelId": "anthropic.claude-sonnet-4-5", "system": [{"text": HANDBOOK * 30}], "messages": []}),
        log(*(chat(HANDBOOK * 30, question, model="anthropic/claude-opus-4.1") for question in QUESTIONS)),
        log(*(claude(question, system=HANDBOOK * 60, model="claude-haiku-4-5") for question in QUESTIONS)),
        one(claude(tools=[{"name": f"tool_{at}", "description": HANDBOOK} for at in range(20)], system="Hi")),
    ),
    good=(
        anthropic(blocks("POLICY")),
        anthropic("'Be brief.'"),
        anthropic("user"),
        anthropic("POLICY", messages=f"[{{'role': 'user', 'content': {blocks('q')}}}]"),
        one(claude(system=marked(HANDBOOK * 30))),
        log(*(claude(question, cache_control={"type": "ephemeral"}) for question in QUESTIONS)),
        one(claude(system=HANDBOOK)),
        one(claude(model="Qwen/Qwen3-8B")),
        log(*(claude(f"{at}", system=f"{at} {HANDBOOK[at * 9 :] * 30}") for at in range(4))),
        log(*(claude(question, system=marked(HANDBOOK * 30)) for question in QUESTIONS)),
    ),
)
