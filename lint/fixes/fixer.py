"""Applies the fixes of one file, pass by pass until nothing is left to do.

Every pass is judged by linting what it made: what was fixed must weigh less, nothing may weigh more, and the file
must still be read. A pass that fails is tried again fix by fix; a fix that fails alone is refused and said so.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from lint.fixes.edits import apply, compatible
from lint.rule import SEVERITIES, Edit, Finding

PASSES: Final = 50
_ALONE: Final = 20
"""Of a pass that failed, so many fixes are tried alone."""
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
        fixable = {f.fix.edits: f for f in findings if f.fix and f.fix.edits not in refused and wanted(f)}
        if not fixable:
            break
        alone = list(fixable.items())[:_ALONE]
        for tried in (_together(fixable), *({edits: finding} for edits, finding in alone)):
            new = apply(text, {edit for edits in tried for edit in edits})
            after = lint(new)
            if new != text and _better(findings, after, {finding.code for finding in tried.values()}):
                text, findings = new, after
                applied += tried.values()
                break
        else:
            refused |= alone
    return Fixed(text, findings, tuple(applied), tuple(refused.values()))


def _together(fixable: Mapping[tuple[Edit, ...], Finding]) -> dict[tuple[Edit, ...], Finding]:
    """Those that can be applied in one go."""
    chosen = compatible(finding.fix for finding in fixable.values() if finding.fix)
    return {fix.edits: fixable[fix.edits] for fix in chosen}


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
