"""A conversation goes on with another model."""

from lint.examples import HANDBOOK, QUESTIONS, chat, log
from lint.rule import Rule
from lint.sources.examples import app
from lint.sources.flow import uses
from lint.traffic.checks import losses

_TURNS = [
    f"Turn {at}: the parcel with the {at * 7} blue shoes is still not here, what do you advise?" for at in range(16)
]


RULE = Rule(
    code="PC601",
    name="model-switch",
    severity="warning",
    summary="A conversation goes on with another model.",
    why=(
        "Models never share a cache: the first request to the other one computes the whole conversation. A model "
        "that the environment names is one for all that a deployment sends, and only for information; read anew by "
        "each call, with another one for where the environment says nothing, it is a warning."
    ),
    instead=("Keep one model for a conversation; choose it at its beginning."),
    since="0.1.0",
    checks=(
        uses("model", "deployed"),
        losses("model", severity="warning"),
    ),
    bad=(
        app("POLICY", model="os.environ['MODEL']", imports="import os"),
        app("POLICY", model="os.getenv('MODEL', 'm')", imports="import os"),
        app("POLICY", model="random.choice(['m', 'n'])", imports="import random"),
        log(*(chat(HANDBOOK, *_TURNS[: 2 * at + 1], model=model) for at, model in enumerate("aab"))),
        log(*(chat(HANDBOOK, *_TURNS[: 2 * at + 1], model=model) for at, model in enumerate("aba"))),
        log(*(chat(HANDBOOK, *_TURNS[: 2 * at + 1], model=model) for at, model in enumerate("aabbcc"))),
    ),
    good=(
        app("POLICY"),
        app("POLICY", model="MODEL", imports="import os\nMODEL = os.environ['MODEL']"),
        app("POLICY", model="docs"),
        log(*(chat(HANDBOOK, *_TURNS[: 2 * at + 1]) for at in range(5))),
        log(*(chat(HANDBOOK, question, model=model) for question, model in zip(QUESTIONS, "abab", strict=True))),
        log(*(chat(HANDBOOK, *_TURNS[: 2 * at + 1], model=model) for model in "ab" for at in range(3))),
    ),
)
