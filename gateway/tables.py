"""How the operators' API answers: frozen dataclasses as JSON, or their rows as CSV for a spreadsheet.

Encoded by msgspec, which takes a tenth of the time of a validation layer that checks our own values. CSV has one
column per field, `ttft_s_p50` for what is nested; an unknown value is an empty cell. Text that a spreadsheet would
take for a formula gets an apostrophe in front (https://owasp.org/www-community/attacks/CSV_Injection).
"""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from fastapi import Query
from starlette.responses import Response

from prefix.record import UncachedReason
from telemetry.attribution import REASONS
from telemetry.cells import TokenSums
from telemetry.history import Sums

Format = Annotated[Literal["json", "csv"], Query(alias="format")]
"""The query parameter by which a table is asked for as CSV."""

ReasonTokens = dict[UncachedReason, int]
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def answer(value: object) -> Response:
    """JSON."""
    return Response(msgspec.json.encode(value), media_type="application/json")


def table(value: object, rows: Sequence[object], columns: Sequence[str], name: str, form: Format) -> Response:
    """`value` as JSON, or its `rows` as a CSV file of this name. columns: those of a table without rows."""
    if form == "json":
        return answer(value)
    flat = [_flat(msgspec.to_builtins(row)) for row in rows]
    heads = dict.fromkeys(column for row in flat for column in row) or dict.fromkeys(columns)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(heads), restval="", lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(flat)
    headers = {"content-disposition": f'attachment; filename="prefixgate-{name}.csv"'}
    return Response(text.getvalue().encode(), headers=headers, media_type="text/csv; charset=utf-8")


def sum_fields(sums: TokenSums | Sums) -> dict[str, Any]:
    """The fields that every row of sums has."""
    reasons = sums.uncached_by_reason if isinstance(sums, Sums) else dict(sums.uncached)
    return {
        "requests": sums.requests,
        "input_tokens": sums.input_tokens,
        "cached_tokens": sums.cached_tokens,
        "hit_rate": sums.hit_rate,
        "uncached_by_reason": reasons,
        "unknown_requests": sums.unknown_requests,
    }


def redacted(size: int | None) -> str:
    """What is shown of a value of so many characters; None: of nothing."""
    return "nothing" if size is None else f"{size:,} characters"


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    cells: dict[str, Any] = {}
    for name, value in row.items():
        if name == "uncached_by_reason":
            cells |= {
                f"uncached_{reason}": (value or {}).get(reason, 0 if value is not None else "") for reason in REASONS
            }
        elif isinstance(value, Mapping):
            cells |= {f"{name}_{part}": _cell(each) for part, each in value.items()}
        else:
            cells[name] = _cell(value)
    return cells


def _cell(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, str) and value.startswith(_FORMULA):
        return "'" + value
    return " ".join(str(_cell(each)) for each in value) if isinstance(value, list) else value
