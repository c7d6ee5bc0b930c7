"""Source samples with known faults: right code, place, severity; one finding per cause; silence on the clean ones."""

from pathlib import Path

import pytest

from lint.linter import lint_paths
from lint.registry import rules

SAMPLES = Path(__file__).parents[2] / "data" / "lint" / "source"
EXPECTED: dict[str, list[tuple[str, str, int, int]]] = {
    "c01_timestamp_top.py": [("PC101", "error", 5, 13)],
    "c01_prompt.yaml": [("PC101", "error", 6, 21), ("PC103", "error", 7, 16)],
    "c04_tools_order.py": [("PC401", "error", 4, 5)],
    "c05_json_key_order.py": [("PC303", "error", 3, 30)],
    "c07_fewshot_sampled.py": [("PC203", "warning", 4, 25)],
    "c08_crlf_prompt.txt": [("PC301", "error", 1, 25)],
    "c10_sliding_window.py": [("PC501", "error", 4, 110)],
    "c12_model_or_format_change.py": [
        ("PC601", "warning", 3, 49),
        ("PC603", "warning", 3, 96),
        ("PC602", "warning", 4, 25),
    ],
    "c14_fstring_datetime.py": [("PC101", "error", 4, 51)],
    "c16_jinja_now.j2": [("PC101", "error", 1, 13)],
    "c16b_jinja_user_first.j2": [("PC104", "error", 1, 25), ("PC104", "error", 1, 42)],
    "c17_clean.py": [],
    "c17_clean_jinja.j2": [],
    "c17_clean_prompt.yaml": [],
    "c18_date_day.py": [("PC102", "info", 3, 26)],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_samples(name: str) -> None:
    """Code, severity, row and column of everything that is found, and nothing else."""
    findings = lint_paths([str(SAMPLES / name)], rules().values()).findings
    found = [(f.code, f.severity, f.location.row, f.location.column) for f in findings if f.location]
    assert found == EXPECTED[name]
    assert len(found) == len(findings)


def test_every_sample_is_expected() -> None:
    """No sample lies about untested."""
    assert {path.name for path in SAMPLES.iterdir()} == set(EXPECTED)
