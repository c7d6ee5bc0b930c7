"""Retrieved text stands before instructions that never change."""

from lint.rule import Rule
from lint.sources.examples import app, template
from lint.sources.flow import uses

RULE = Rule(
    code="PC202",
    name="rag-before-instructions",
    severity="error",
    summary="Retrieved text stands before instructions that never change.",
    why=(
        "What is retrieved differs from question to question, so the instructions behind it are computed "
        "again for each. In front of it they would be computed once."
    ),
    instead="Write the instructions first, then what was retrieved, then the question.",
    since="0.1.0",
    fix="unsafe",
    checks=(uses("docs"),),
    bad=(
        app("context + POLICY", setup="context = '\\n'.join(d.text for d in docs)"),
        app("f'{found}{POLICY}'", setup="found = '\\n'.join(d.page_content for d in user.invoke(q))"),
        app("'Context: ' + str(store.similarity_search(q)) + POLICY", imports="from search import store"),
        template("{% for d in documents %}{{ d.text }}{% endfor %}"),
    ),
    good=(
        app("POLICY", user="'\\n'.join(d.text for d in docs) + q"),
        app("POLICY + '\\n'.join(d.text for d in docs)"),
        template("Be brief.", "{% for d in documents %}{{ d.text }}{% endfor %}"),
    ),
)
