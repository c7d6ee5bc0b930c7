"""GitLab's Code Quality report: shown in merge requests, compared with the target branch by fingerprint.

https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

import json
from typing import Any, Final

from lint.fingerprint import fingerprints, relative
from lint.linter import Report
from lint.rule import Finding

_SEVERITIES: Final = {"error": "major", "warning": "minor", "info": "info"}


def render(report: Report) -> str:
    """A list of issues."""
    marks = fingerprints(report.findings)
    return json.dumps(
        [_issue(finding, mark) for finding, mark in zip(report.findings, marks, strict=True)],
        indent=1,
        ensure_ascii=False,
    )


def _issue(finding: Finding, mark: str) -> dict[str, Any]:
    return {
        "description": f"{finding.code} {finding.name}: {finding.message}",
        "check_name": finding.code,
        "fingerprint": mark,
        "severity": _SEVERITIES[finding.severity],
        "location": {
            "path": relative(finding.filename),
            "lines": {"begin": finding.location.row if finding.location else 1},
        },
    }
