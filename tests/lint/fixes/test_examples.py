"""lint.fixes by the examples of all rules: what a fix promises, for every finding that has one."""

import ast
import re
from collections import Counter
from collections.abc import Callable

import black
import pytest

from lint.fixes.edits import apply
from lint.fixes.fixer import fixed
from lint.linter import lint_text
from lint.registry import rules
from lint.rule import SEVERITIES, Example, Finding, Rule
from tests.lint.sources import rewrites

FIXABLE = [
    (rule, example)
    for rule in rules().values()
    for example in rule.bad
    if any(finding.fix and finding.code == rule.code for finding in lint_text(*example))
]
_TIDY = re.compile(r"[\s'\"]+")


def _name(value: object) -> str:
    return value.code if isinstance(value, Rule) else ""


def weight(findings: list[Finding], code: str = "") -> int:
    return sum(SEVERITIES.index(f.severity) + 1 for f in findings if f.code.startswith(code))


def leaves(text: str) -> Counter[str]:
    """What a program is made of, whatever its order: names, fields, and the letters of its texts."""
    found: Counter[str] = Counter()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name):
            found[node.id] += 1
        elif isinstance(node, ast.Attribute):
            found[f".{node.attr}"] += 1
        elif isinstance(node, ast.Constant):
            found.update(_TIDY.sub("", str(node.value)))
    return found


@pytest.mark.parametrize(("rule", "example"), FIXABLE, ids=_name)
def test_a_fix_mends_its_finding_and_makes_no_other(rule: Rule, example: Example) -> None:
    """After it the rule has less to say and no rule more; what is left has no fix that would do the same again."""
    before = lint_text(*example)
    result = fixed(example.text, before, lambda text: lint_text(example.filename, text), lambda f: f.fix is not None)
    assert result.applied
    assert not result.refused
    assert weight(result.findings, rule.code) < weight(before, rule.code) or rule.severity == "info"
    assert not any(finding.fix for finding in result.findings)
    for code in rules():
        assert weight(result.findings, code) <= weight(before, code)
    assert all(finding.severity == "info" for finding in result.findings if finding.code == rule.code)


@pytest.mark.parametrize(("rule", "example"), FIXABLE, ids=_name)
def test_fixing_is_idempotent(rule: Rule, example: Example) -> None:
    """A fixed text has nothing left to fix."""
    text = example.text
    for _ in range(2):
        result = fixed(text, lint_text(example.filename, text), lambda t: lint_text(example.filename, t), bool)
        last, text = text, result.text
    assert text == last


@pytest.mark.parametrize(("rule", "example"), [pair for pair in FIXABLE if pair[1].filename == "app.py"], ids=_name)
def test_a_python_fix_changes_nothing_else(rule: Rule, example: Example) -> None:
    """The program is made of the same names and texts, but for what the fix adds, and of its comments."""
    added = {
        "PC303": Counter({"T": 1, "r": 1, "u": 1, "e": 1}),
        "PC305": Counter({"sorted": 1}),
        "PC401": Counter({".sort": 1, "tool": 1, **Counter("functionname")}),
        "PC701": Counter({"?": 1, "0": 1, ".partition": 1}),
    }.get(rule.code, Counter())
    removed = {"PC304": Counter("q2"), "PC401": Counter({"random": 1, ".shuffle": 1})}
    for finding in lint_text(*example):
        if finding.code == rule.code and finding.fix:
            fixed_text = apply(example.text, finding.fix.edits)
            assert leaves(fixed_text) - leaves(example.text) == added
            assert leaves(example.text) - leaves(fixed_text) == removed.get(rule.code, Counter())


REWRITES = [
    rewrites.unparsed,
    rewrites.renamed,
    rewrites.with_call_extracted,
    rewrites.with_prompt_extracted,
    lambda text: black.format_str(text, mode=black.Mode(line_length=40)),
    lambda text: text.replace("\n", "\r\n"),
    lambda text: text.replace("\n", "\n# \u65e5\u672c \U0001f600\n", 1).replace(
        "'content': ", "'\xe4': '\u65e5', 'content': "
    ),
]
PYTHON = [pair for pair in FIXABLE if pair[1].filename == "app.py" and "FlowDocument" in pair[0].judges]


@pytest.mark.parametrize("rewrite", REWRITES)
@pytest.mark.parametrize(("rule", "example"), PYTHON, ids=_name)
def test_fixes_hold_in_any_layout(rule: Rule, example: Example, rewrite: Callable[[str], str]) -> None:
    """However a program is laid out and named: it still parses, no fix is refused, and none is left to apply."""
    text = rewrite(example.text)
    result = fixed(text, lint_text("app.py", text), lambda new: lint_text("app.py", new), lambda f: f.fix is not None)
    ast.parse(result.text)
    assert not result.refused
    assert not any(finding.fix for finding in result.findings)
    assert result.text.count("\r\n") == text.count("\r\n")


def test_rules_say_which_fixes_they_have() -> None:
    """A rule that names a fix has one in its examples, of that applicability; others have none."""
    found: dict[str, set[str]] = {}
    for rule in rules().values():
        for example in rule.bad:
            of_rule = [f.fix.applicability for f in lint_text(*example) if f.code == rule.code and f.fix]
            found.setdefault(rule.code, set()).update(of_rule)
    for rule in rules().values():
        assert (rule.fix is None) == (not found[rule.code]), rule.code
        assert rule.fix is None or rule.fix in found[rule.code]
