"""Code as application engineers write it, with one fault each: found by its rule, and at its line.

Each file of tests/data/lint/recall names the rule in its first line and marks the fault with `# here`.
"""

from pathlib import Path

import pytest

from lint.linter import lint_paths
from lint.registry import rules

SNIPPETS = sorted((Path(__file__).parents[2] / "data" / "lint" / "recall").glob("*.py"))


@pytest.mark.parametrize("file", SNIPPETS, ids=lambda file: file.stem)
def test_recall(file: Path) -> None:
    """One error or warning, of this rule and at this line."""
    lines = file.read_text(encoding="utf-8").splitlines()
    row = next(at for at, line in enumerate(lines, 1) if line.endswith("# here"))
    found = [finding for finding in lint_paths([str(file)], rules().values()).findings if finding.severity != "info"]
    assert [(f.code, f.location and f.location.row) for f in found] == [(lines[0][2:7], row)]


def test_there_are_many() -> None:
    """Of a dozen rules, in the libraries that people use."""
    assert len({file.read_text(encoding="utf-8")[2:7] for file in SNIPPETS}) >= 12
