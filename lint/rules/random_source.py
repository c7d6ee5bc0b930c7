"""A random value or order feeds a prompt or its tools."""

from lint.rule import Rule
from lint.sources.examples import app
from lint.sources.flow import uses

RULE = Rule(
    code="PC105",
    name="random-source",
    severity="error",
    summary="A random value or order feeds a prompt or its tools.",
    why=(
        "Text that is drawn anew for every request can never be found in a cache, nor can anything behind it. In a "
        "prompt of its own what is drawn is often what the prompt is about (test data, variety on purpose), and only "
        "for information."
    ),
    instead=(
        "Draw once and keep the result, give the generator a fixed seed, or put what is drawn into the newest "
        "message."
    ),
    since="0.1.0",
    checks=(
        uses("random", besides=("tools",)),
        uses("shuffled", besides=("tools",)),
        uses("sampled", where=("tools",)),
    ),
    bad=(
        app("f'Seed {random.random()}. {POLICY}'", imports="import random"),
        app("POLICY + ' '.join(docs)", setup="random.shuffle(docs)", imports="import random"),
        app("POLICY", more="tools=random.sample(TOOLS, 3),", imports="import random\nfrom registry import TOOLS"),
    ),
    good=(
        app("POLICY", imports="import random", setup="wait = random.random()"),
        app("f'{random.random()} {POLICY}'", imports="import random", setup="random.seed(7)"),
        app("POLICY", user="f'{q} {random.random()}'", imports="import random"),
    ),
)
