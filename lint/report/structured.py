"""Findings as JSON: a list, or one a line, in the fields and the order of lint.rule.Finding."""

import msgspec

from lint.fingerprint import shown
from lint.linter import Report


def as_json(report: Report) -> str:
    """One finding a line, so that a diff of two reports can be read."""
    return "[" + ",\n ".join(_lines(report)) + "]"


def as_json_lines(report: Report) -> str:
    """Each line a finding."""
    return "\n".join(_lines(report))


def _lines(report: Report) -> list[str]:
    named = (msgspec.structs.replace(finding, filename=shown(finding.filename)) for finding in report.findings)
    return [msgspec.json.encode(finding).decode() for finding in named]
