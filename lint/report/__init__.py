"""How findings are written: for people (full, concise), for machines (json), and for what shows them beside code."""

from collections.abc import Callable
from typing import Final

from lint.linter import Report
from lint.report import github, gitlab, junit, sarif
from lint.report.plain import concise, statistics
from lint.report.structured import as_json, as_json_lines

TEXT_FORMATS: Final[dict[str, Callable[[Report], str]]] = {
    "concise": concise,
    "json": as_json,
    "json-lines": as_json_lines,
    "github": github.render,
    "gitlab": gitlab.render,
    "junit": junit.render,
    "sarif": sarif.render,
}
"""The formats that are one text; `full` is written to a terminal (lint.report.full)."""

__all__ = ["TEXT_FORMATS", "statistics"]
