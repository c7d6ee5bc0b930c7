"""lint.call_sites: calls of a project's own that hand over a prompt."""

import pytest

from lint.call_sites import declared, parse_call_sites
from lint.linter import lint_text
from prefix.errors import ConfigError

TEXT = """
import time
RULES = "Follow the policy. " * 400

def run(question):
    return core.dispatch(7, f"{time.time()} {RULES}", q=question)
"""


@pytest.mark.parametrize("site", ["dispatch(number, rules=system)", "core.dispatch(number, prompt)"])
def test_a_declared_site_is_one(site: str) -> None:
    """By the end of its name, by position, in what it takes; without the declaration nothing is known of it."""
    assert lint_text("app.py", TEXT) == []
    token = declared.set(parse_call_sites([site]))
    try:
        assert [finding.code for finding in lint_text("app.py", TEXT)] == ["PC101"]
        assert lint_text("app.py", TEXT.replace("core.", "core.other_")) == []
    finally:
        declared.reset(token)


@pytest.mark.parametrize("site", ["dispatch", "dispatch()", "dispatch(a)", "dispatch(a=b)", "dis patch(prompt)", ""])
def test_what_is_no_site(site: str) -> None:
    """A declaration that says nothing of a prompt is refused, with how to write it."""
    with pytest.raises(ConfigError, match="write it as"):
        parse_call_sites([site])
