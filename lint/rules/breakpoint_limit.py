"""A request has more breakpoints than the API takes."""

from lint.bodies import breakpoint_faults
from lint.examples import QUESTIONS, claude, log, marked, one
from lint.rule import Rule
from lint.sources.examples import anthropic, blocks
from lint.sources.flow import uses
from lint.traffic.checks import notes

_POINT = {"cachePoint": {"type": "default"}}
_MESSAGES = [{"role": "user", "content": [{"text": question}, _POINT]} for question in QUESTIONS]
_TWO = [*marked("Be brief."), *marked("Be kind.")]

RULE = Rule(
    code="PC803",
    name="breakpoint-limit",
    severity="error",
    summary="A request has more breakpoints than the API takes.",
    why=(
        "Anthropic and Bedrock take four in one request, tools, system text and messages together. A fifth one is "
        "an error, or is dropped by the library in between, and which one it drops is its choice."
    ),
    instead=(
        "Mark what ends a part that changes at a pace of its own: the tools, the system text, and the newest "
        "message. Take the mark off a message when the next one gets it."
    ),
    since="0.1.0",
    checks=(uses("breakpoint_limit"), notes("breakpoint_limit", "error"), breakpoint_faults("breakpoint_limit")),
    bad=(
        anthropic(blocks("POLICY", 5)),
        anthropic(blocks("POLICY", 4), tools="[{'name': 'f', 'cache_control': MARK}]"),
        anthropic(blocks("POLICY", 3), messages=f"[{{'role': 'user', 'content': {blocks('q', 2)}}}]"),
        one(claude(*(marked(f"Turn {at}") for at in range(5)))),
        log(*(claude(*(marked(f"Turn {at}") for at in range(count))) for count in (1, 3, 5))),
        one(claude(*(marked(question) for question in QUESTIONS), cache_control={"type": "ephemeral"}, system=_TWO)),
        one({"modelId": "amazon.nova-pro-v1:0", "system": [{"text": "Hi"}, _POINT], "messages": _MESSAGES}),
        log(*(claude(*[marked(question)] * 5) for question in QUESTIONS)),
        log(*(claude(*[marked("Turn")] * 7, system=_TWO) for _ in range(3))),
    ),
    good=(
        anthropic(blocks("POLICY", 4)),
        anthropic(blocks("POLICY", 3), tools="[{'name': 'f', 'cache_control': MARK}]"),
        anthropic("POLICY"),
        one(claude(*(marked(f"Turn {at}") for at in range(3)))),
        log(*(claude(*(marked(question) for question in QUESTIONS[:3])) for _ in range(3))),
        one(claude(*(marked(f"Turn {at}") for at in range(5)), model="Qwen/Qwen3-8B")),
        log(*(claude(question, system=_TWO) for question in QUESTIONS)),
        log(*(claude(*[marked(question)] * 5, model="m") for question in QUESTIONS)),
        one(claude(marked("Hi"), system=_TWO)),
    ),
)
