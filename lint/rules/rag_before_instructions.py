"""Retrieved text stands before instructions that never change."""

from lint.examples import HANDBOOK, asked, chat, log
from lint.rule import Rule
from lint.sources.examples import app, template
from lint.sources.flow import uses
from lint.traffic.checks import losses

_NOTES = (
    "Parcels to islands take two days longer than those to the mainland, and cost four euros more.",
    "Shoes that were worn outside are taken back for half of what was paid, within fourteen days.",
    "A voucher is valid for three years, counted from the end of the year it was bought in.",
    "Gift wrapping is free in December. In all other months it costs two euros per parcel.",
)

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
    checks=(uses("docs"), losses("retrieved_text", severity="error")),
    bad=(
        app("context + POLICY", setup="context = '\\n'.join(d.text for d in docs)"),
        app("f'{found}{POLICY}'", setup="found = '\\n'.join(d.page_content for d in user.invoke(q))"),
        app("'Context: ' + str(store.similarity_search(q)) + POLICY", imports="from search import store"),
        template("{% for d in documents %}{{ d.text }}{% endfor %}"),
        asked(*(f"Context:\n{note}\n\n{HANDBOOK}" for note in _NOTES)),
        log(*(chat("Be brief.", f"<documents>{note}</documents>\n{HANDBOOK}\nWhy?") for note in _NOTES)),
        log(*({"model": "m", "prompt": f"Quellen:\n{note}\n\n{HANDBOOK}"} for note in _NOTES)),
    ),
    good=(
        app("POLICY", user="'\\n'.join(d.text for d in docs) + q"),
        app("POLICY + '\\n'.join(d.text for d in docs)"),
        template("Be brief.", "{% for d in documents %}{{ d.text }}{% endfor %}"),
        asked(*(f"{HANDBOOK}\nContext:\n{note}" for note in _NOTES)),
        log(*(chat(HANDBOOK, f"<documents>{note}</documents>\nWhy?") for note in _NOTES)),
        asked(*[f"Context:\n{_NOTES[0]}\n\n{HANDBOOK}"] * 4),
    ),
)
