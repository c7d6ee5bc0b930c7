"""lint.rules: every rule by the examples it documents itself with."""

import re

import pytest

from lint.linter import lint_text
from lint.registry import rules
from lint.rule import Example, Rule

RULES = list(rules().values())
CATALOGUE = """
PC001:SL PC002:S PC003:SL PC101:SL PC102:SL PC103:SL PC104:SL PC105:S PC106:SL PC107:SL PC201:SL PC202:SL PC203:SL
PC204:L PC205:L PC206:L PC301:SL PC302:SL PC303:SL PC304:SL PC305:S PC306:SL PC307:L PC401:SL PC402:L PC403:L
PC404:SL PC405:L PC501:SL PC502:SL PC503:SL PC504:L PC505:L PC601:SL PC602:SL PC603:SL PC604:SL PC605:SL PC701:SL
PC702:L PC703:SL PC801:SL PC802:L PC803:SL PC804:SL PC805:L PC806:L PC807:L PC901:S PC902:S PC903:S PC911:L PC912:L
"""
JUDGES = {code: inputs for code, _, inputs in (word.partition(":") for word in CATALOGUE.split())}
"""Every rule there is, and whether it judges source (S: code, templates, prompts, a single body) and logs (L).

Where one could not tell its cause, another has it: random text in a log is PC103 or PC201, an order drawn in
source is PC105."""
LOGS = (".jsonl", ".jsonl.gz", ".csv")
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


def test_the_whole_catalogue_is_there() -> None:
    """Each code is a rule, and no rule is without one."""
    assert list(rules()) == list(JUDGES)


@pytest.mark.parametrize("rule", RULES, ids=_name)
def test_examples_of_every_input(rule: Rule) -> None:
    """Three bad and three good ones of source, where the rule judges source, and of logs, where it judges those."""
    for examples in (rule.bad, rule.good):
        logs = sum(example.filename.endswith(LOGS) for example in examples)
        counts = {"S": len(examples) - logs, "L": logs}
        assert all(counts[kind] >= 3 for kind in JUDGES[rule.code]), counts
