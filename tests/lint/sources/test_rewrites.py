"""Bad Python examples stay bad however they are written: layout, names and helpers hide nothing."""

from collections.abc import Callable

import pytest

from lint.linter import lint_text
from lint.registry import rules
from lint.rule import Example, Rule
from tests.lint.sources import rewrites

BAD = [(r, e) for r in rules().values() for e in r.bad if e.filename.endswith(".py") and "FlowDocument" in r.judges]
GOOD = [(r, e) for r in rules().values() for e in r.good if e.filename.endswith(".py") and "FlowDocument" in r.judges]
REWRITES = [
    rewrites.blackened,
    rewrites.unparsed,
    rewrites.renamed,
    rewrites.with_call_extracted,
    rewrites.with_prompt_extracted,
]
NAMELESS = {"PC104": {"PC104", "PC201"}}
"""Without a telling name, text of a user is a variable before static text."""


def _name(value: object) -> str:
    return value.code if isinstance(value, Rule) else getattr(value, "__name__", "")


@pytest.mark.parametrize("rewrite", REWRITES, ids=_name)
@pytest.mark.parametrize(("rule", "example"), BAD, ids=_name)
def test_bad_examples_are_found_in_any_form(rule: Rule, example: Example, rewrite: Callable[[str], str]) -> None:
    """A rewritten bad example has a finding of its rule."""
    codes = {finding.code for finding in lint_text(example.filename, rewrite(example.text))}
    assert codes & NAMELESS.get(rule.code, {rule.code})


@pytest.mark.parametrize("rewrite", REWRITES, ids=_name)
@pytest.mark.parametrize(("rule", "example"), GOOD, ids=_name)
def test_good_examples_stay_clean_in_any_form(rule: Rule, example: Example, rewrite: Callable[[str], str]) -> None:
    """A rewritten good example has no finding of its rule."""
    codes = {finding.code for finding in lint_text(example.filename, rewrite(example.text))}
    assert rule.code not in codes


def test_renaming_is_consistent() -> None:
    """Functions, parameters and keywords of own calls get one new name; fields and imports keep theirs."""
    text = "from m import f\n\ndef g(a, b):\n    return f(a).b\n\nc = g(1, b=2)\nd = f(b=c)"
    assert rewrites.renamed(text) == (
        "from m import f\n\ndef v4(v0, v1):\n    return f(v0).b\nv2 = v4(1, v1=2)\nv3 = f(b=v2)"
    )
