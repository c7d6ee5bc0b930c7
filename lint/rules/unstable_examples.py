"""Examples are drawn or ordered anew for each request."""

from typing import Any

from lint.examples import HANDBOOK, asked, chat, log
from lint.rule import Rule
from lint.sources.examples import app, template
from lint.sources.flow import uses
from lint.traffic.checks import losses

_ANSWERS = {
    "a": "Q: The box was crushed on the way. A: I am sorry to hear it; a new one is on its way to you.\n",
    "b": "Q: How do I return a pair of shoes? A: Print the label in your account and bring them to a shop.\n",
    "c": "Q: The code for ten percent fails. A: It ended last Sunday; I have added a new one to your cart.\n",
    "d": "Q: May I pay when it arrives? A: We take cards and bank transfer, and no cash at the door.\n",
}


def _examples(order: str) -> str:
    return "Examples:\n" + "".join(_ANSWERS[key] for key in order) + HANDBOOK


def _messages(order: str) -> dict[str, Any]:
    turns = [part for key in order for part in _ANSWERS[key].strip().split(" A: ")]
    return chat("Be brief.", *turns, "The parcel is late.")


RULE = Rule(
    code="PC203",
    name="unstable-examples",
    severity="warning",
    summary="Examples are drawn or ordered anew for each request.",
    why=(
        "A set of examples that is sampled or shuffled begins with another one each time, so none of them "
        "is cached, and nothing behind them."
    ),
    instead=(
        "Fix the set and its order, or draw with a seed that stays for a route. Examples chosen by the "
        "question belong behind the instructions."
    ),
    since="0.1.0",
    checks=(
        uses("sampled", besides=("tools",)),
        losses("text_order", "few_shot_order", severity="warning"),
    ),
    bad=(
        app(
            "'Examples:\\n' + '\\n'.join(random.sample(EXAMPLES, 4))",
            imports="import random\nfrom shots import EXAMPLES",
        ),
        app(
            "POLICY + ''.join(rng.choices(EXAMPLES, k=2))",
            imports="import random\nfrom shots import EXAMPLES",
            setup="rng = random.Random()",
        ),
        template("Example: {{ shots | random }}"),
        asked(*(_examples(order) for order in ("abcd", "cadb", "dbac", "bdca"))),
        asked(*(_examples(order) for order in ("abc", "dab", "cbd", "bca"))),
        log(*(_messages(order) for order in ("abcd", "cadb", "dbac", "bdca"))),
    ),
    good=(
        app("POLICY + ''.join(EXAMPLES[:4])", imports="from shots import EXAMPLES"),
        app(
            "POLICY + ''.join(rng.sample(EXAMPLES, 2))",
            imports="import random\nfrom shots import EXAMPLES",
            setup="rng = random.Random(7)",
        ),
        app("POLICY", imports="import random", setup="delay = random.choice([1, 2])"),
        asked(*[_examples("abcd")] * 4),
        log(_messages("abcd"), _messages("abcd")),
        asked(*[_examples("cadb")] * 4),
    ),
)
