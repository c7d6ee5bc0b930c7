"""The order of a set or of a folder's files decides the order of prompt text or tools."""

from lint.rule import Rule
from lint.sources.examples import app
from lint.sources.flow import uses

RULE = Rule(
    code="PC305",
    name="unordered-iteration",
    severity="error",
    summary="The order of a set or of a folder's files decides the order of prompt text or tools.",
    why=(
        "A set of strings has another order in every process, and a folder lists its files as it likes. Two "
        "replicas with the same code then build different prompts."
    ),
    instead="Sort before writing: `sorted(names)`.",
    since="0.1.0",
    fix="safe",
    checks=(uses("unordered"),),
    bad=(
        app("', '.join(ENABLED) + POLICY", imports="ENABLED = {'a', 'b', 'c'}"),
        app("POLICY", more="tools=[schema(n) for n in set(docs)],", imports="from registry import schema"),
        app("POLICY + '\\n'.join(os.listdir('rules'))", imports="import os"),
        app(
            "text",
            setup="text = POLICY\nfor name in ENABLED | set(docs):\n    text += name",
            imports="ENABLED = {'a', 'b', 'c'}",
        ),
    ),
    good=(
        app("', '.join(sorted(ENABLED)) + POLICY", imports="ENABLED = {'a', 'b', 'c'}"),
        app(
            "POLICY",
            more="tools=[schema(n) for n in TOOLS if n in {'a', 'b'}],",
            imports="from registry import TOOLS, schema",
        ),
        app("POLICY", user="', '.join(set(docs))"),
    ),
)
