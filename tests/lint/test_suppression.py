"""lint.suppression: `noqa` in comments."""

import msgspec
import pytest

from lint.examples import HANDBOOK, chat, one
from lint.linter import lint_text
from lint.rule import Location
from lint.suppression import suppressed

(FOUND,) = lint_text(*one(chat(f"Current time: 2026-03-01T10:10:00Z\n{HANDBOOK}")))
FINDING = msgspec.structs.replace(FOUND, location=Location(2, 5), request=None)


@pytest.mark.parametrize(
    ("line", "quiet"),
    [
        ("now()  # noqa", True),
        ("now()  # noqa: PC101", True),
        ("now()  # NOQA:PC401, PC101", True),
        ("now()  # noqa: PC1", True),
        ("now()  # noqa: E501, PC101", True),
        ("{{ now() }} {# noqa: PC101 #}", True),
        ("now()  # noqa: PC401", False),
        ("now()  # noqa: E501", False),
        ("now()  # about noqa", False),
        ("now()", False),
    ],
)
def test_a_line(line: str, quiet: bool) -> None:
    """A comment covers the line it stands in, for the codes it names or for all."""
    assert suppressed(FINDING, f"import x\n{line}\n") is quiet
    assert not suppressed(FINDING, f"{line}\nimport x\n")


@pytest.mark.parametrize(
    ("comment", "quiet"),
    [
        ("# prefixgate: ignore-file", True),
        ("{# prefixgate: ignore-file: PC101 #}", True),
        ("# prefixgate: ignore-file: PC4", False),
    ],
)
def test_a_file(comment: str, quiet: bool) -> None:
    """A comment anywhere covers the file."""
    assert suppressed(FINDING, f"\n\n\n{comment}\n") is quiet


def test_in_a_template() -> None:
    """The linter asks, for every kind of source."""
    template = "Now: {{ now() }}%s\n" + HANDBOOK * 3
    assert any(finding.code == "PC101" for finding in lint_text("prompt.j2", template % ""))
    assert all(finding.code != "PC101" for finding in lint_text("prompt.j2", template % "{# noqa: PC101 #}"))
