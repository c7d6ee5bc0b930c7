"""A line or a file that does not parse."""

from collections.abc import Iterator

from lint.documents import Unreadable
from lint.examples import HANDBOOK, asked, chat, one
from lint.rule import Check, Example, Rule, Sighting


def _find(document: Unreadable) -> Iterator[Sighting]:
    row = document.location.row if document.location else 1
    what = "1 line does" if document.occurrences == 1 else f"{document.occurrences:,} lines do"
    yield Sighting(
        message=f"{what} not parse, the first at line {row:,}: {document.reason}",
        location=document.location,
        occurrences=document.occurrences,
    )


RULE = Rule(
    code="PC001",
    name="unreadable-input",
    severity="warning",
    summary="A line or a file does not parse.",
    why=(
        "What cannot be read cannot be judged. It is counted and reported once per file, so that a log of which half "
        "is broken never looks like one that is clean."
    ),
    instead="Mend the file, or leave it out of the run.",
    since="0.1.0",
    checks=(Check(Unreadable, _find),),
    bad=(
        Example("log.jsonl", '{"messages": [\n'),
        Example("log.jsonl", asked(HANDBOOK, HANDBOOK).text + "{}}\n"),
        Example("log.jsonl.gz", "this is no gzip"),
        Example("app.py", "prompt = f'{now'\n"),
        Example("prompt.j2", "{% if user %}Hello {{ user }}\n"),
        Example("prompt.yaml", "system: 'Be brief.\n"),
        Example("request.json", '{"messages": ['),
    ),
    good=(
        asked(HANDBOOK, HANDBOOK),
        one(chat(HANDBOOK)),
        Example("log.jsonl", "\n" + asked(HANDBOOK).text + "\n\n"),
        Example("log.jsonl", asked(HANDBOOK, HANDBOOK).text.rstrip("\n")),
        Example("app.py", "prompt = f'{now}'\n"),
        Example("prompt.j2", "{% if user %}Hello {{ user }}{% endif %}\n"),
        Example("prompt.yaml", "system: 'Be brief.'\n"),
    ),
)
