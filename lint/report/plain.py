"""One line per finding, and one per rule."""

from collections import Counter

from lint.linter import Report
from lint.rule import Finding, Severity, visible


def concise(report: Report) -> str:
    """`file:row:column: CODE severity message`, one a line."""
    return "\n".join(
        f"{place(finding)}: {finding.code} {finding.severity} {finding.message}" for finding in report.findings
    )


def statistics(report: Report) -> str:
    """How many findings each rule has, the most frequent first."""
    counts = Counter((finding.code, finding.name) for finding in report.findings)
    return "\n".join(f"{count:>5}  {code}  {name}" for (code, name), count in counts.most_common())


def place(finding: Finding) -> str:
    """Where it is, as editors understand it."""
    where = finding.location
    name = visible(finding.filename)
    return name if where is None else f"{name}:{where.row}:{where.column}"


def summary(report: Report) -> str:
    """How much was found in how much, in one line."""
    counts = Counter(finding.severity for finding in report.findings)
    named: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "hint"}
    parts = [f"{counts[key]} {word}{'s' * (counts[key] != 1)}" for key, word in named.items() if counts[key]]
    inspected = f"{report.inspected} input{'s' * (report.inspected != 1)} inspected"
    return f"{', '.join(parts) or 'Nothing found'}; {inspected}.{_fixable(report)}"


def _fixable(report: Report) -> str:
    counts = Counter(finding.fix.applicability for finding in report.findings if finding.fix)
    safe = f"{counts['safe']} fixable with --fix" if counts["safe"] else ""
    more = f"{counts['unsafe']}{' more' * bool(safe)} with --fix --unsafe-fixes" if counts["unsafe"] else ""
    return f" {', '.join(filter(None, (safe, more)))}." if safe or more else ""
