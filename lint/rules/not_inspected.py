"""Something was asked for and not looked at."""

from collections.abc import Iterator

from lint.documents import NotInspected
from lint.examples import HANDBOOK, asked, chat, one
from lint.rule import Check, Example, Rule, Sighting


def _find(document: NotInspected) -> Iterator[Sighting]:
    what = document.reason if document.nothing else f"not inspected: {document.reason}"
    yield Sighting(
        message=f"{what} ({document.occurrences:,} times)" if document.occurrences > 1 else what,
        severity="warning" if document.nothing else "info",
        occurrences=document.occurrences,
    )


RULE = Rule(
    code="PC003",
    name="not-inspected",
    severity="warning",
    summary="Something was asked for and not looked at.",
    why=(
        "A run that looked at nothing would otherwise look like one in which nothing was wrong. It is a warning when "
        "nothing at all was inspected, and a hint for files and lines that were passed over."
    ),
    instead="Give files that can be read: logs of requests, request bodies, or source of a supported language.",
    since="0.1.0",
    checks=(Check(NotInspected, _find),),
    bad=(
        Example("log.jsonl", ""),
        Example("log.jsonl", '{"level": "info"}\n' * 3),
        Example("page.html.j2", "<html><body>{{ title }}</body></html>"),
        Example("app.rb", "puts Time.now"),
        Example("app.ts", "const prompt = `Now: ${Date.now()}`"),
        Example("log.jsonl", '{"event": "started"}\n' + asked(HANDBOOK, HANDBOOK).text),
    ),
    good=(
        asked(HANDBOOK, HANDBOOK),
        one(chat(HANDBOOK)),
        Example("log.jsonl", asked(HANDBOOK).text),
        Example("app.py", "prompt = 'Be brief.'\n"),
        Example("prompt.j2", "Be brief.\n"),
        Example("log.jsonl", '{"request": {"prompt": "Hi"}}\n{"kwargs": {"prompt": "Hi"}}\n'),
    ),
)
