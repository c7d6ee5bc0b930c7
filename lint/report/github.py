"""Workflow commands: GitHub shows each finding beside the line it is in.

https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
"""

from lint.fingerprint import shown
from lint.linter import Report
from lint.rule import Finding

_LEVELS = {"error": "error", "warning": "warning", "info": "notice"}


def render(report: Report) -> str:
    """One command a line."""
    return "\n".join(map(_command, report.findings))


def _command(finding: Finding) -> str:
    fields = {"file": shown(finding.filename), "title": f"{finding.code} {finding.name}"}
    if finding.location is not None:
        fields |= {"line": str(finding.location.row), "col": str(finding.location.column)}
    named = ",".join(f"{key}={_property(value)}" for key, value in fields.items())
    return f"::{_LEVELS[finding.severity]} {named}::{_data(finding.message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
