"""lint.sources.jinja, prompt_yaml and prompt_text: what is hostile is bounded, what is said has its place."""

import io

import pytest

from lint.documents import NotInspected, Unreadable
from lint.rule import Document
from lint.sources import jinja, prompt_text, prompt_yaml
from lint.sources.flow import FlowDocument

STATIC = "Follow the policy. " * 40


def one(source: object, filename: str, text: str) -> Document:
    (document,) = getattr(source, "SOURCE").read(filename, io.BytesIO(text.encode()))  # noqa: B009
    return document


def kinds(document: Document) -> list[tuple[str, str, int, int]]:
    assert isinstance(document, FlowDocument), document
    return [(flow.kind, flow.label, flow.row, flow.column) for flow in document.flows]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{% set t = now() %}\n{{ t }}", [("clock", "now()", 1, 12)]),
        ("{{ strftime_now('%Y-%m-%d') }}", [("date", "strftime_now()", 1, 4)]),
        ("{{ shots | random }}", [("sampled", "|random", 1, 12)]),
        ("{% for d in documents %}{{ d.text }}{% endfor %}", [("docs", "documents.text", 1, 13)]),
        ("{% for k, v in labels.items() %}{{ k }}{% endfor %}", [("mapping", "labels.items()", 1, 16)]),
        ("{% if user.vip %}Be kind.{% endif %}", []),
        ("{% for m in messages %}{{ m.content }}{% endfor %}", []),
    ],
)
def test_jinja(text: str, expected: list[tuple[str, str, int, int]]) -> None:
    """Kind, label and place of what a template writes ahead of its static text; nothing behind it."""
    assert kinds(one(jinja, "p.j2", f"{text}\n{STATIC}")) == expected
    behind = [
        flow for flow in kinds(one(jinja, "p.j2", f"{STATIC}\n{text}")) if flow[0] not in ("sampled", "mapping")
    ]
    assert behind == []


@pytest.mark.parametrize(
    "text", ["{% if %}", "{% unknown %}", "{{ " + "(" * 3000 + ")" * 3000 + " }}", "x" * 1_000_001]
)
def test_jinja_that_is_not_followed(text: str) -> None:
    """A template that does not parse, is nested too deeply or too long is reported."""
    assert isinstance(one(jinja, "p.j2", text), (Unreadable, NotInspected))


def test_jinja_that_doubles() -> None:
    """A variable that doubles sixty times over costs nothing."""
    text = "{% set a = b %}" + "{% set a = a ~ a %}" * 60 + "{{ a }}" + STATIC
    assert [flow[0] for flow in kinds(one(jinja, "p.j2", text))] == ["variable"]


@pytest.mark.parametrize("text", ["a: [", "a: \x01", "[" * 1500 + "]" * 1500, "a: " + "x" * 1_000_001])
def test_yaml_that_is_not_followed(text: str) -> None:
    """A file that is no YAML, nested too deeply or too long is reported."""
    assert isinstance(one(prompt_yaml, "p.yaml", text), (Unreadable, NotInspected))


def test_yaml_constructs_nothing() -> None:
    """A tag that would run something is only a node; aliases of aliases and a list in itself cost nothing."""
    bomb = "a: &a [x]\n" + "".join(f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    for text in ("a: !!python/object/apply:os._exit [3]\n", bomb, "&a [*a]"):
        assert kinds(one(prompt_yaml, "p.yaml", text)) == []


def test_text_that_is_no_prompt() -> None:
    """A text file that is not named as a prompt is none."""
    assert list(prompt_text.read("requirements.txt", io.BytesIO(b"a \r\n"))) == []


def test_line_ends_are_mended() -> None:
    """The safe fix leaves LF and no trailing blanks."""
    text = "\ufeffa  \r\nb\t\nc \n"
    (seen,) = prompt_text.WHITE_SPACE.find(prompt_text.PromptText("prompt.txt", text))
    assert seen.fix is not None
    assert seen.occurrences == 4
    for edit in reversed(seen.fix.edits):
        text = text[: edit.start] + edit.content + text[edit.end :]
    assert text == "a\nb\nc\n"


def test_blanks_that_only_an_editor_takes_away() -> None:
    """Trailing blanks are the same in every request: for information. A line end that git rewrites is not, and is
    what the finding points at."""
    blanks, ends = (
        list(prompt_text.WHITE_SPACE.find(prompt_text.PromptText("prompt.txt", text)))
        for text in ("a \nb\n", "a \nb\r\n")
    )
    assert [(seen.severity, seen.location and seen.location.row) for seen in (*blanks, *ends)] == [
        ("info", 1),
        (None, 2),
    ]


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("Answer about {region}.", ["region"]),
        ("{{ zone }} Answer about {region}.", ["zone", "region"]),
        ("{% if zone %}{{ zone }}{% endif %} print(f'{region}')", ["zone"]),
    ],
)
def test_yaml_braces_are_holes_or_text(text: str, labels: list[str]) -> None:
    """`{name}` is a hole of `str.format`, and text in a prompt with statements of Jinja."""
    found = kinds(one(prompt_yaml, "p.yaml", f"prompt: |\n  {text}\n  {STATIC}"))
    assert [label for _, label, _, _ in found] == labels
