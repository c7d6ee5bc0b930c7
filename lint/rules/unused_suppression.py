"""A comment suppresses a finding that is not there."""

import re
from collections.abc import Iterator

from lint.rule import Check, Edit, Example, Fix, Location, Rule, Sighting
from lint.sources.examples import app, prompt_file, template
from lint.suppression import Directive, Unused, UnusedSuppressions


def _find(document: UnusedSuppressions) -> Iterator[Sighting]:
    for unused in document.unused:
        start = unused.directive.start
        column = start - max(document.source.rfind(end, 0, start) for end in "\r\n")
        named = ", ".join(unused.codes) or document.source[start : unused.directive.end]
        yield Sighting(
            message=f"unused suppression: {named}",
            location=Location(unused.directive.comment.row, column),
            start=start,
            end=unused.directive.end,
            fix=_fix(document.source, unused),
        )


def _fix(text: str, unused: Unused) -> Fix:
    directive = unused.directive
    kept = [code for code in directive.codes if code not in unused.codes]
    if kept:
        words = text[directive.start : directive.end]
        first = re.search(r"[:=]\s*", words.removeprefix("prefixgate:"))
        at = directive.end - len(words.removeprefix("prefixgate:")) + (first.end() if first else 0)
        return Fix("safe", (Edit(at, directive.end, ", ".join(kept)),))
    return _without(text, directive)


def _without(text: str, directive: Directive) -> Fix:
    """The comment taken out; with words of its own besides, only the directive. Behind a Jinja comment a line end may
    be trimmed, so taking that away is not safe."""
    start, end = directive.comment.start, directive.comment.end
    rest = (text[start : directive.start] + text[directive.end : end]).strip("{}# \t-+")
    if rest:
        return Fix("safe", (Edit(directive.start, directive.end, ""),))
    if directive.comment.inside:
        return Fix("unsafe" if text[end : end + 1] in ("\n", "\r") else "safe", (Edit(start, end, ""),))
    line = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    if text[line:start].strip():
        return Fix("safe", (Edit(line + len(text[line:start].rstrip()), end, ""),))
    stop = re.compile(r"\r\n|\r|\n|\Z").search(text, end)
    assert stop is not None
    return Fix("safe", (Edit(line, stop.end(), ""),))


_UNUSED = "  # noqa: PC101"
RULE = Rule(
    code="PC002",
    name="unused-suppression",
    severity="warning",
    summary="A comment suppresses a finding that is not there.",
    why=(
        "A `noqa` that is left over hides the next finding in its line, which nobody has seen. Codes of other "
        "linters and a `noqa` without codes are not judged."
    ),
    instead="Take it out, or name the code that is meant.",
    since="0.1.0",
    fix="safe",
    checks=(Check(UnusedSuppressions, _find),),
    bad=(
        Example("app.py", f"import time{_UNUSED}\n"),
        Example("app.py", "# prefixgate: ignore-file: PC1\nANSWER = 42\n"),
        Example("app.py", "# prefixgate: disable: PC101\nANSWER = 42\n# prefixgate: enable: PC101\n"),
        template("Be brief.{# noqa: PC101 #}"),
        Example("prompt.yaml", "system: Be brief.  # noqa: PC101, E501\n"),
    ),
    good=(
        app("str(now) + POLICY", setup="now = time.time()  # noqa: PC101", imports="import time"),
        template("Today is {{ now() }}.{# noqa: PC101 #}"),
        Example("prompt.yaml", prompt_file("Current time: {{ timestamp }}").text.replace("|", "|  # noqa: PC101", 1)),
        Example("app.py", "import os  # noqa\nimport sys  # noqa: F401\nTEXT = '# noqa: PC101'\n"),
    ),
)
