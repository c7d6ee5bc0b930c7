"""SARIF 2.1.0, which code scanning services read (OASIS, sarif-v2.1.0-os)."""

import json
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from lint.fingerprint import fingerprints, relative
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
    marks = fingerprints(report.findings)
    results = [
        _result(finding, indices[finding.code], mark) for finding, mark in zip(report.findings, marks, strict=True)
    ]
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


def _result(finding: Finding, index: int, mark: str) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": _artifact(finding)}
    if finding.location is not None:
        place["region"] = {"startLine": finding.location.row, "startColumn": finding.location.column}
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"prefixgate/v1": mark},
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
    return result | ({"properties": properties} if properties else {}) | _fixes(finding)


def _artifact(finding: Finding) -> dict[str, Any]:
    name = relative(finding.filename)
    return {"uri": Path(name).as_uri() if name.startswith("/") else quote(name)}


def _fixes(finding: Finding) -> dict[str, Any]:
    if finding.fix is None:
        return {}
    replacements = [
        {
            "deletedRegion": {"charOffset": edit.start, "charLength": edit.end - edit.start},
            "insertedContent": {"text": edit.content},
        }
        for edit in finding.fix.edits
    ]
    change = {"artifactLocation": _artifact(finding), "replacements": replacements}
    return {"fixes": [{"description": {"text": f"{finding.fix.applicability} fix"}, "artifactChanges": [change]}]}


def _related(number: int, place: Related) -> dict[str, Any]:
    region = {"startLine": place.location.row, "startColumn": place.location.column}
    physical = {"artifactLocation": {"uri": quote(place.filename)}, "region": region}
    return {"id": number, "physicalLocation": physical, "message": {"text": f"made by {place.label}"}}
