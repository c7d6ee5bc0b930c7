"""lint.rules: every rule by the examples it documents itself with."""

import re

import pytest

from lint.linter import lint_text
from lint.registry import rules
from lint.rule import Example, Rule

RULES = list(rules().values())
BAD = [(rule, example) for rule in RULES for example in rule.bad]
GOOD = [(rule, example) for rule in RULES for example in rule.good]


def _name(value: object) -> str:
    return value.code if isinstance(value, Rule) else ""


@pytest.mark.parametrize(("rule", "example"), BAD, ids=_name)
def test_bad_examples_are_found(rule: Rule, example: Example) -> None:
    """Each bad example has a finding of the rule, in its file, one for its one cause."""
    found = [finding for finding in lint_text(*example) if finding.code == rule.code]
    assert {finding.filename for finding in found} == {example.filename}


@pytest.mark.parametrize(("rule", "example"), GOOD, ids=_name)
def test_good_examples_are_clean(rule: Rule, example: Example) -> None:
    """No good example has a finding of the rule."""
    assert [finding for finding in lint_text(*example) if finding.code == rule.code] == []


@pytest.mark.parametrize("rule", RULES, ids=_name)
def test_a_rule_is_documented(rule: Rule) -> None:
    """A code of the catalogue, one line of summary, three examples of each kind."""
    assert re.fullmatch(r"PC\d{3}", rule.code)
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.name)
    assert rule.summary.endswith(".")
    assert "\n" not in rule.summary
    assert min(len(rule.bad), len(rule.good)) >= 3
    assert rule.checks
