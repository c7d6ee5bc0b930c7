"""The linter on logs and bodies with known faults: right code, place and severity; silence where nothing is wrong.

Logs: tests/data/lint (meta.json says what is wrong with each); bodies: tests/data/cases.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from lint.linter import lint_paths, lint_text
from lint.registry import rules
from lint.rule import Finding
from tests.cases import case

LOGS = Path(__file__).parents[1] / "data" / "lint"
META: dict[str, dict[str, Any]] = json.loads((LOGS / "meta.json").read_text(encoding="utf-8"))
EXPECTED = {
    "c01_timestamp_top": [("PC101", "system")],
    "c04_tools_order": [("PC401", "tools")],
    "c05_json_key_order": [("PC303", "tools")],
    "c05b_json_in_text_whitespace": [("PC303", "system")],
    "c07_fewshot_sampled": [("PC203", "system")],
    "c08_crlf_trailing_ws": [("PC301", "system")],
    "c10_sliding_window": [("PC501", "messages")],
    "c12_model_or_format_change": [("PC601", "model"), ("PC602", "response_format")],
    "c17_clean": [],
    "c18_date_day": [("PC102", "system")],
}
API_HAS_NO_FORMAT = "PC602"
BODIES = [
    (1, "A", "PC101"),
    (1, "fixed", "PC102"),
    (3, "A", None),
    (4, "A", "PC103"),
    (5, "A", "PC106"),
    (7, "A", "PC103"),
    (32, "A", "PC701"),
    (16, "body", None),
    (27, "A_moved", None),
]


PAIRS = [
    (1, "A B", [("PC101", "error")]),
    (4, "A B", [("PC103", "error")]),
    (5, "A B", [("PC106", "warning")]),
    (7, "A B", [("PC404", "error")]),
    (9, "A B", [("PC203", "warning")]),
    (10, "A B", [("PC401", "error")]),
    (14, "A B", [("PC303", "error")]),
    (17, "wire_A wire_B wire_A wire_B", []),
    (19, "generated_then_replayed_verbatim replayed_sorted", [("PC303", "error")]),
    (19, "generated_then_replayed_verbatim replayed_compact", []),
    (25, "turn_t turn_t_plus_1", [("PC501", "warning")]),
    (25, "block_aligned_t block_aligned_t_plus_1", []),
    (27, "A B", [("PC202", "error")]),
    (27, "A_moved B_moved", []),
    (30, "auto named none", [("PC603", "warning")]),
    (30, "auto none", [("PC603", "warning")]),
    (32, "A B", [("PC701", "warning")]),
]


def found(path: Path) -> list[Finding]:
    return lint_paths([str(path)], rules().values()).findings


@pytest.mark.parametrize("api", ["openai", "anthropic"])
@pytest.mark.parametrize("name", EXPECTED)
def test_logs(name: str, api: str) -> None:
    """One finding per cause, of the right rule, at the right place and of the right severity; nothing else."""
    findings = found(LOGS / f"{name}.{api}.jsonl")
    expected = [pair for pair in EXPECTED[name] if (pair[0], api) != (API_HAS_NO_FORMAT, "anthropic")]
    assert sorted((finding.code, _member(finding)) for finding in findings) == sorted(expected)
    assert {finding.severity for finding in findings} <= {META[name]["severity"]}


@pytest.mark.parametrize("name", [name for name, pairs in EXPECTED.items() if pairs and name[1:3] != "18"])
def test_logs_first_request(name: str) -> None:
    """The request that is named is the first one that parts from those before it."""
    first = META[name]["first_divergence_vs_request_0"]["request"]
    assert min(finding.request or 0 for finding in found(LOGS / f"{name}.openai.jsonl")) == first


def test_log_finding_in_full() -> None:
    """Counts, both values, pointer and code points, and the line."""
    (clock,) = found(LOGS / "c01_timestamp_top.openai.jsonl")
    assert (clock.request, clock.pointer, clock.start, clock.end) == (1, "/messages/0/content", 14, 34)
    assert (clock.occurrences, clock.location and clock.location.row) == (7, 2)
    assert "'2026-03-01T10:10:00Z' -> '2026-03-01T10:11:07Z'" in clock.message
    assert (clock.recoverable_tokens or 0) > 5000


@pytest.mark.parametrize(("number", "body", "code"), BODIES)
def test_bodies(number: int, body: str, code: str | None) -> None:
    """Volatile text is found in one body alone, where the case says and as severe; constant facts are not."""
    data = case(number)
    inputs = data["input"]
    texts = [inputs[body]] if body in inputs else [value for value in inputs.values() if isinstance(value, dict)]
    found = [finding for text in texts for finding in lint_text("request.json", json.dumps(text))]
    expected = data["expected"].get(f"findings_on_{body}", [])
    assert [finding.code for finding in found] == [code] * len(expected)
    for finding, wanted in zip(found, expected, strict=True):
        assert (finding.pointer, finding.severity) == (wanted["path"], wanted["severity"])
        assert finding.start is not None
        assert finding.end is not None
        assert finding.start < wanted["end"]
        assert wanted["start"] < finding.end


@pytest.mark.parametrize(("number", "names", "expected"), PAIRS)
def test_bodies_as_a_log(number: int, names: str, expected: list[tuple[str, str]]) -> None:
    """The bodies of a case one after the other: what parts them, as severe as the case says; silence when mended."""
    inputs = case(number)["input"]
    bodies = [inputs[name] for name in names.split()]
    text = "\n".join(body.replace("\n", " ") if isinstance(body, str) else json.dumps(body) for body in bodies)
    assert [(finding.code, finding.severity) for finding in lint_text("log.jsonl", text)] == expected


def _member(finding: Finding) -> str:
    """Where it is, without what the two APIs call it."""
    pointer = finding.pointer or ""
    leading = pointer.startswith("/system") or pointer == "/messages/0/content"
    return "system" if leading else pointer.split("/")[1]
