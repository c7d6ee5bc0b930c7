"""Applies the fixes of one file, pass by pass until nothing is left to do.

Every pass is judged by linting what it made: what was fixed must weigh less, nothing may weigh more, and the file
must still be read. A pass that fails is tried again fix by fix; a fix that fails alone is refused and said so.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from lint.fixes.edits import apply, compatible
from lint.rule import SEVERITIES, Edit, Finding

PASSES: Final = 50
Lint = Callable[[str], list[Finding]]
Wanted = Callable[[Finding], bool]


class Fixed(NamedTuple):
    """What became of a text. findings: what is left in it. applied, refused: findings whose fix was, or failed."""

    text: str
    findings: list[Finding]
    applied: tuple[Finding, ...]
    refused: tuple[Finding, ...]


def fixed(text: str, findings: list[Finding], lint: Lint, wanted: Wanted) -> Fixed:
    """Fix a text. findings: those in it. lint: the findings in another text in its place. wanted: which to fix."""
    applied: list[Finding] = []
    refused: dict[tuple[Edit, ...], Finding] = {}
    for _ in range(PASSES):
        fixable = [
            finding for finding in findings if wanted(finding) and finding.fix and finding.fix.edits not in refused
        ]
        if not fixable:
            break
        done, text, findings = _one_pass(text, findings, fixable, lint)
        applied += done
        if not done:
            refused |= {finding.fix.edits: finding for finding in fixable if finding.fix}
    return Fixed(text, findings, tuple(applied), tuple(refused.values()))


def _one_pass(
    text: str, findings: list[Finding], fixable: list[Finding], lint: Lint
) -> tuple[list[Finding], str, list[Finding]]:
    chosen = compatible(finding.fix for finding in fixable if finding.fix)
    together = [finding for finding in fixable if any(finding.fix is fix for fix in chosen)]
    for tried in [together, *([finding] for finding in fixable if len(together) > 1 or len(fixable) > 1)]:
        new = apply(text, {edit for finding in tried if finding.fix for edit in finding.fix.edits})
        after = lint(new) if new != text else findings
        if _better(findings, after, {finding.code for finding in tried}):
            return tried, new, after
    return [], text, findings


def _better(before: Sequence[Finding], after: Sequence[Finding], mended: set[str]) -> bool:
    """Whether no rule has more to say, and those that were mended less: a hint may stay, but not its fix."""
    old, new = _weights(before), _weights(after)
    return not new - old and all((new[c], _fixable(after, c)) < (old[c], _fixable(before, c)) for c in mended)


def _fixable(findings: Iterable[Finding], code: str) -> int:
    return sum(finding.code == code and finding.fix is not None for finding in findings)


def _weights(findings: Iterable[Finding]) -> Counter[str]:
    weights: Counter[str] = Counter()
    for finding in findings:
        weights[finding.code] += SEVERITIES.index(finding.severity) + 1
    return weights
