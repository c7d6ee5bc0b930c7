"""An answer is sent back otherwise than it was generated."""

from typing import Any

from lint.examples import HANDBOOK, chat, entry, log, message
from lint.rule import Rule
from lint.traffic.checks import notes

_ANSWER = "The parcel left the harbour on Monday.\n\nIt will reach you within three days, I think.\n"
_CALL = '{"id": "A-17", "deep": true}'


def _two(given: Any, back: Any) -> list[dict[str, Any]]:
    """Two turns of a conversation. given: what the model said. back: what the second turn sends for it."""
    first = chat(HANDBOOK, "Where is my parcel?")
    answer = message("assistant", back) if isinstance(back, str) else back
    second = {**first, "messages": [*first["messages"], answer, message("user", "And the other one?")]}
    return [entry(first, given), entry(second, "It is here.")]


def _called(arguments: str, name: str = "order") -> dict[str, Any]:
    call = {"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


RULE = Rule(
    code="PC504",
    name="echo-mismatch",
    severity="warning",
    summary="An answer is sent back otherwise than it was generated.",
    why=(
        "An engine keeps what it generated. When the client trims the answer, cleans its Markdown or writes "
        "the arguments of a call anew, the next turn finds the cache only up to there. Reasoning that is left "
        "out does not count: most templates leave it out of earlier turns themselves. Arguments that are only "
        "spelled otherwise are a hint, since SGLang and vLLM parse them before a template prints them. Needs "
        "responses in the log; without them nothing is said."
    ),
    instead="Keep the message as it came, byte for byte, and send that back.",
    since="0.1.0",
    checks=(notes("echo", "warning", needs=("answers",)),),
    bad=(
        log(*_two(_ANSWER, _ANSWER.strip())),
        log(*_two(_ANSWER, _ANSWER.replace("I think", "we think"))),
        log(*_two(_called(_CALL), _called('{"deep": true, "id": "A-17"}'))),
        log(*_two(_called(_CALL), _called('{"id":"A-17","deep":true}'))),
    ),
    good=(
        log(*_two(_ANSWER, _ANSWER)),
        log(*_two(_called(_CALL), _called(_CALL))),
        log(*_two(f"<think>Where was it?</think>{_ANSWER}", _ANSWER)),
        log(*(line["request"] for line in _two(_ANSWER, _ANSWER.strip()))),
    ),
)
