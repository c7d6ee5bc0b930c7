"""Findings as JSON: a list, in the fields and the order of lint.rule.Finding."""

import msgspec

from lint.linter import Report


def as_json(report: Report) -> str:
    """One finding a line, so that a diff of two reports can be read."""
    lines = [msgspec.json.encode(finding).decode() for finding in report.findings]
    return "[" + ",\n ".join(lines) + "]"
