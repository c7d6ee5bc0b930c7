"""lint.suppression: comments that keep findings quiet, in every language that has them."""

import msgspec
import pytest

from lint.examples import HANDBOOK, chat, one
from lint.linter import lint_text
from lint.registry import rules
from lint.rule import Location
from lint.suppression import Suppressions

(FOUND,) = lint_text(*one(chat(f"Current time: 2026-03-01T10:10:00Z\n{HANDBOOK}")))


def quiet(filename: str, text: str, row: int, code: str = "PC101") -> bool:
    finding = msgspec.structs.replace(FOUND, code=code, location=Location(row, 5), request=None)
    return Suppressions(filename, text).covers(finding)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("now()  # noqa", True),
        ("now()  # noqa: PC101", True),
        ("now()  # NOQA:PC401, PC101", True),
        ("now()  # noqa: PC1", True),
        ("now()  # noqa: E501, PC101", True),
        ("now()  # type: ignore  # noqa: PC101", True),
        ("now()  # prefixgate: ignore: PC101", True),
        ("now()  # prefixgate: ignore", True),
        ("now()  # noqa: PC401", False),
        ("now()  # noqa: E501", False),
        ("now()  # about noqa", False),
        ("now('# noqa')", False),
        ("now()", False),
    ],
)
def test_a_line(line: str, expected: bool) -> None:
    """A comment covers the line it stands in, for the codes it names or for all; text in a string is no comment."""
    assert quiet("app.py", f"import x\n{line}\n", 2) is expected
    assert not quiet("app.py", f"{line}\nimport x\n", 2)


@pytest.mark.parametrize(
    ("filename", "text", "covered"),
    [
        ("app.py", "# prefixgate: ignore-next-line: PC101\nnow()\nnow()\n", {2}),
        ("app.py", "a\n# prefixgate: disable: PC1\nb\nc\n# prefixgate: enable: PC1\nd\n", {2, 3, 4, 5}),
        ("app.py", "a\nb  # prefixgate: disable\nc\nd\n", {2, 3, 4}),
        ("app.py", "a\nb\n# prefixgate: ignore-file\n", {1, 2, 3}),
        ("app.py", "a\nb\n# prefixgate: ignore-file: PC4\n", set()),
        ("app.py", 'x = f"""\n{now()}\n"""  # noqa: PC101\ny\n', {1, 2, 3}),
        ("a.j2", "{{ now() }}{# noqa: PC101 #}\n{{ now() }}\n", {1}),
        ("a.j2", "{#- noqa: PC101 -#}{{ now() }}\n# noqa\n", {1}),
        ("a.jinja", "{# prefixgate: ignore-file: PC101 #}\n{{ now() }}\n", {1, 2}),
        ("a.yaml", "system: |  # noqa: PC101\n  a\n  b\nother: x\n", {1, 2, 3}),
        ("a.yaml", "system: |\n  a # noqa\n  b\n", set()),
        ("a.yaml", "system: 'a # noqa'\n", set()),
        ("a.yaml", "system: 'a'  # noqa\nother: x\n", {1}),
        ("a.yml", "# prefixgate: ignore-next-line\nsystem: a\nx: b\n", {2}),
        ("prompt.txt", "Say noqa.\n# noqa\n", set()),
    ],
)
def test_rows(filename: str, text: str, covered: set[int]) -> None:
    """Lines, next lines, blocks, files, and texts of many lines; what is prompt text suppresses nothing."""
    assert {row for row in range(1, text.count("\n") + 1) if quiet(filename, text, row)} == covered


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("import x  # noqa: PC101\n", ["PC101"]),
        ("import x  # noqa: PC101, PC2\n", ["PC101, PC2"]),
        ("import x  # noqa: F401, PC101\n", ["PC101"]),
        ("import x  # noqa: F401\n", []),
        ("import x  # noqa\n", []),
        ("# prefixgate: ignore-file\n", ["prefixgate: ignore-file"]),
        ("import x  # noqa: PC101 - because\n", ["PC101"]),
    ],
)
def test_unused(text: str, named: list[str]) -> None:
    """What suppresses nothing is a finding of its own, unless it may be there for another linter."""
    found = [finding for finding in lint_text("app.py", text) if finding.code == "PC002"]
    assert [finding.message.removeprefix("unused suppression: ") for finding in found] == named


def test_unused_is_only_said_of_rules_that_were_applied() -> None:
    """With a selection, nothing is known of the others."""
    chosen = [rule for rule in rules().values() if rule.code in ("PC002", "PC102")]
    text = "import x  # noqa: PC101\nimport y  # noqa: PC102\nimport z  # noqa: PC1\n"
    assert [finding.location.row for finding in lint_text("app.py", text, chosen) if finding.location] == [2]


def test_in_a_template() -> None:
    """The linter asks, for every kind of source."""
    template = "Now: {{ now() }}%s\n" + HANDBOOK * 3
    assert any(finding.code == "PC101" for finding in lint_text("prompt.j2", template % ""))
    assert all(finding.code != "PC101" for finding in lint_text("prompt.j2", template % "{# noqa: PC101 #}"))


def test_unreadable_source_has_no_comments() -> None:
    """Comments are looked for as far as a file can be read, and no further."""
    assert not quiet("app.py", "x = '''\n# noqa\n", 2)
    assert quiet("app.py", "x = 1  # noqa\ny = '''\n", 1)
    assert not quiet("a.yaml", "x: [1, 2\n  }: # noqa\n", 5)
