"""gateway.tables: rows as CSV that a spreadsheet reads as they are meant."""

import csv
from dataclasses import dataclass

from gateway.tables import table
from telemetry.attribution import REASONS


@dataclass(frozen=True, slots=True)
class ARow:
    """A row with all that rows hold."""

    name: str
    ttft_s: dict[str, float] | None
    uncached_by_reason: dict[str, int] | None
    sparkline: list[float | None]


def cells(*rows: ARow) -> list[dict[str, str]]:
    """The rows of the CSV file."""
    text = bytes(table(rows, rows, ("name",), "some", "csv").body).decode()
    return list(csv.DictReader(text.splitlines()))


def test_what_is_nested_has_columns_and_what_is_unknown_is_empty() -> None:
    """Every reason has a column in every row; zero and unknown are not the same."""
    known, unknown = cells(ARow("a", {"p50": 0.5}, {"new": 3}, [0.5, None]), ARow("b", None, None, []))
    assert (known["ttft_s_p50"], known["uncached_new"], known["uncached_page"]) == ("0.5", "3", "0")
    assert known["sparkline"].split(" ") == ["0.5", ""]
    assert {unknown["ttft_s_p50"], *(unknown[f"uncached_{reason}"] for reason in REASONS)} == {""}


def test_a_client_cannot_plant_a_formula() -> None:
    """What a spreadsheet would compute is text; quotes, commas and line ends stay in their cell."""
    names = ['=cmd|"/c calc"!A1', "@SUM(1)", "+1", "-1", "\tx"]
    assert [row["name"] for row in cells(*(ARow(name, None, None, []) for name in names))] == ["'" + n for n in names]
    assert cells(ARow('a,"b"', None, None, []))[0]["name"] == 'a,"b"'
