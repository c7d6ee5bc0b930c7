"""x"""

from gateway.bench.report import Report


def report_html(report: Report) -> str:
    """The whole page."""
    return report.version
