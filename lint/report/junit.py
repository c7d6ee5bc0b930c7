"""JUnit XML, which every CI server reads: a suite per file, a failed case per finding, one that passed without any.

The dialect of Jenkins (jenkinsci/xunit-plugin, junit-10.xsd).
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

from lint.fingerprint import relative
from lint.linter import Report
from lint.report.plain import place
from lint.rule import Finding

_NO_XML: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report) -> str:
    """One document."""
    from xml.etree.ElementTree import Element, SubElement, indent, tostring

    root = Element("testsuites", name="prefixgate lint")
    for filename, found in groupby(report.findings, lambda finding: finding.filename):
        findings = list(found)
        suite = _suite(root, relative(filename), len(findings), failures=len(findings))
        for finding in findings:
            _case(suite, finding)
    if not report.findings:
        SubElement(_suite(root, "prefixgate lint", 1, failures=0), "testcase", name="nothing found")
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode")


def _suite(root: Element, name: str, tests: int, *, failures: int) -> Element:
    from xml.etree.ElementTree import SubElement

    counts = {"name": _clean(name), "tests": str(tests), "failures": str(failures), "errors": "0"}
    return SubElement(root, "testsuite", counts)


def _case(suite: Element, finding: Finding) -> None:
    from xml.etree.ElementTree import SubElement

    name = f"{finding.code} {finding.name} {place(finding).removeprefix(finding.filename)}".rstrip()
    case = SubElement(suite, "testcase", name=_clean(name), classname=_clean(relative(finding.filename)))
    failure = SubElement(case, "failure", type=finding.severity, message=_clean(finding.message))
    failure.text = _clean(f"{place(finding)}\n{finding.url}")


def _clean(text: str) -> str:
    """Without what XML cannot hold."""
    return _NO_XML.sub("\ufffd", text)
