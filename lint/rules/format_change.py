"""A conversation goes on with another response format."""

from typing import Any

from lint.examples import HANDBOOK, chat, log
from lint.rule import Rule
from lint.sources.examples import app
from lint.sources.flow import uses
from lint.traffic.checks import losses

_TURNS = [
    f"Turn {at}: the parcel with the {at * 7} blue shoes is still not here, what do you advise?" for at in range(16)
]


def _body(at: int, model: str, name: str) -> dict[str, Any]:
    schema = {"type": "json_schema", "json_schema": {"name": name, "schema": {"type": "object"}}}
    return chat(HANDBOOK, *_TURNS[: 2 * at + 1], model=model, response_format=schema)


RULE = Rule(
    code="PC602",
    name="format-change",
    severity="warning",
    summary="A conversation goes on with another response format.",
    why=(
        "OpenAI puts the schema of `response_format` ahead of the system text, so another one is a full "
        "miss. SGLang and vLLM do not print it; for their models nothing is reported."
    ),
    instead=("Keep one schema for a conversation, or ask for the format in the newest message."),
    since="0.1.0",
    checks=(
        uses("format"),
        losses("response_format", severity="warning"),
    ),
    bad=(
        app("POLICY", more="response_format={'type': 'json_schema', 'json_schema': docs},", imports="", setup=""),
        app(
            "POLICY",
            more="response_format=form,",
            imports="",
            setup="form = {'type': 'json_schema', 'json_schema': docs}",
        ),
        app("POLICY", more="response_format=dict(type='json_schema', json_schema=user),", imports="", setup=""),
        log(*(_body(at, "gpt-4o", name) for at, name in enumerate("aab"))),
        log(*(_body(at, "openai/gpt-5", name) for at, name in enumerate("aba"))),
        log(*(_body(at, "o3", name) for at, name in enumerate("aabb"))),
    ),
    good=(
        app("POLICY", more="response_format={'type': 'json_object'},", imports="", setup=""),
        app("POLICY", more="response_format=SHAPE,", imports="from shapes import SHAPE", setup=""),
        app(
            "POLICY",
            more="response_format={'type': 'json_schema', 'json_schema': SHAPE},",
            imports="from shapes import SHAPE",
            setup="",
        ),
        log(*(_body(at, "gpt-4o", "a") for at in range(4))),
        log(*(_body(at, "Qwen/Qwen3-8B", name) for at, name in enumerate("aab"))),
        log(*(_body(at, "openai/gpt-oss-20b", name) for at, name in enumerate("aab"))),
    ),
)
