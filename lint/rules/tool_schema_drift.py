"""A tool of one name is sent with another description or schema."""

from lint.examples import HANDBOOK, QUESTIONS, chat, log, tool
from lint.rule import Rule
from lint.traffic.checks import losses

RULE = Rule(
    code="PC403",
    name="tool-schema-drift",
    severity="warning",
    summary="A tool of one name is sent with another description or schema.",
    why=(
        "A description that is written anew, or a schema built from what is in a database, changes the "
        "front of the prompt, and everything behind it is computed again."
    ),
    instead=("Keep tools constant: what varies belongs into the newest message."),
    since="0.1.0",
    checks=(losses("tool_text", severity="warning"),),
    bad=(
        log(
            *(
                chat(HANDBOOK, tools=[tool("order", f"Finds orders of {shop} shoes.")])
                for shop in ("red", "blue", "old")
            )
        ),
        log(*(chat(HANDBOOK, tools=[tool("order", type=kind)]) for kind in ("object", "string"))),
        log(*(chat(HANDBOOK, tools=[tool("order", enum=[name])]) for name in ("berlin", "oslo", "rome"))),
    ),
    good=(
        log(*(chat(HANDBOOK, question, tools=[tool("order")]) for question in QUESTIONS)),
        log(*(chat(HANDBOOK, question, tools=[tool("order"), tool("parcel")]) for question in QUESTIONS)),
        log(*(chat(HANDBOOK, question) for question in QUESTIONS)),
    ),
)
