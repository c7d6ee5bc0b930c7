"""SARIF 2.1.0, which code scanning services read (OASIS, sarif-v2.1.0-os)."""

import json
from typing import Any, Final
from urllib.parse import quote

from lint.linter import Report
from lint.registry import rules
from lint.rule import Finding, Related, Rule

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final = {"error": "error", "warning": "warning", "info": "note"}


def render(report: Report) -> str:
    """One run with the rules that found something, and a result per finding."""
    known = [rule for code, rule in rules().items() if any(finding.code == code for finding in report.findings)]
    indices = {rule.code: at for at, rule in enumerate(known)}
    driver = {
        "name": "prefixgate",
        "informationUri": "https://github.com/prefixgate/prefixgate",
        "rules": [_rule(rule) for rule in known],
    }
    results = [_result(finding, indices[finding.code]) for finding in report.findings]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False)


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.why},
        "help": {"text": rule.instead},
        "helpUri": rule.url,
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _result(finding: Finding, index: int) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": quote(finding.filename)}}
    if finding.location is not None:
        place["region"] = {"startLine": finding.location.row, "startColumn": finding.location.column}
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": place}],
        "occurrenceCount": finding.occurrences,
    }
    if finding.related:
        result["relatedLocations"] = [_related(number, place) for number, place in enumerate(finding.related)]
    details = {
        "pointer": finding.pointer,
        "request": finding.request,
        "recoverableTokens": finding.recoverable_tokens,
    }
    properties = {key: value for key, value in details.items() if value is not None}
    return result | ({"properties": properties} if properties else {})


def _related(number: int, place: Related) -> dict[str, Any]:
    region = {"startLine": place.location.row, "startColumn": place.location.column}
    physical = {"artifactLocation": {"uri": quote(place.filename)}, "region": region}
    return {"id": number, "physicalLocation": physical, "message": {"text": f"made by {place.label}"}}
