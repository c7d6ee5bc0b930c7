"""The order of a set or of a folder's files decides the order of prompt text or tools."""

from lint.rule import Rule
from lint.sources.examples import app, template
from lint.sources.flow import uses

RULE = Rule(
    code="PC305",
    name="unordered-iteration",
    severity="error",
    summary="The order of a set or of a folder's files decides the order of prompt text or tools.",
    why=(
        "A set of strings has another order in every process, and a folder lists its files as it likes. Two "
        "replicas with the same code then build different prompts. A template that walks over a mapping prints it in "
        "the order in which its caller filled it (a warning where nothing that varies stands before it: the caller "
        "may well always do the same). A set of what one request was given is for information, but in system text "
        "and tools."
    ),
    instead="Sort before writing: `sorted(names)`, in Jinja `mapping | dictsort`.",
    since="0.1.0",
    fix="safe",
    checks=(uses("unordered", "mapping"),),
    bad=(
        app("', '.join(ENABLED) + POLICY", imports="ENABLED = {'a', 'b', 'c'}"),
        app("POLICY", more="tools=[schema(n) for n in set(docs)],", imports="from registry import schema"),
        app("POLICY + '\\n'.join(os.listdir('rules'))", imports="import os"),
        app(
            "text",
            setup="text = POLICY\nfor name in ENABLED | set(docs):\n    text += name",
            imports="ENABLED = {'a', 'b', 'c'}",
        ),
        template("{% for name, rule in rules.items() %}{{ name }}: {{ rule }}{% endfor %}"),
        template("{% for name in labels.keys() %}{{ name }}{% endfor %}"),
    ),
    good=(
        app("', '.join(sorted(ENABLED)) + POLICY", imports="ENABLED = {'a', 'b', 'c'}"),
        app(
            "POLICY",
            more="tools=[schema(n) for n in TOOLS if n in {'a', 'b'}],",
            imports="from registry import TOOLS, schema",
        ),
        app("POLICY", user="', '.join(set(docs))"),
        template("{% for name, rule in rules | dictsort %}{{ name }}: {{ rule }}{% endfor %}"),
        template("{% for name, rule in rules.items() | sort %}{{ name }}: {{ rule }}{% endfor %}"),
    ),
)
