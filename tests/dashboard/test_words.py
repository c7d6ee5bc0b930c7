"""The page's words about reasons are those of the docs and of the code."""

import json
import re
from pathlib import Path
from typing import get_args

from gateway.dashboard import load_assets
from gateway.policies import Reason
from telemetry.attribution import REASONS

ASSETS = load_assets()
MISSES = Path(__file__).parents[2] / "docs" / "misses.md"


def _source(name: str) -> str:
    return ASSETS[name].body.decode()


def _docs() -> dict[str, list[str]]:
    """The table of docs/misses.md: reason -> what it means, how it is known, what to do; without marks of code."""
    lines = [line for line in MISSES.read_text().splitlines() if line.startswith("| `")]
    rows = [[cell.replace("`", "").strip() for cell in line.strip("|").split("|")] for line in lines]
    return {name: cells for name, *cells in rows if name in REASONS and len(cells) == 3}


def test_every_reason_is_explained_as_in_the_docs() -> None:
    """Key by key, what it means and what to do about it stand in docs/misses.md."""
    source = re.sub(r'" \+\s+"', "", _source("reasons.js"))
    rows = re.findall(r'key: (".*?"),.*?means:\s*(".*?"),\s*todo: (".*?"),', source, re.DOTALL)
    shown = {json.loads(key): (json.loads(means), json.loads(todo)) for key, means, todo in rows}
    assert set(shown) == set(REASONS)
    for key, (means, todo) in shown.items():
        in_docs = _docs()[key]
        assert means == in_docs[0]
        assert todo in in_docs[2]


def test_every_choice_of_a_worker_has_a_sentence() -> None:
    """Whatever the router says of its decision, the request's page says in words; so does each reason."""
    source = _source("sentences.js")
    chosen = re.search(r"const CHOSEN = \{(.*?)\n\};", source, re.DOTALL)
    why = re.search(r"const WHY = \{(.*?)\n\};", source, re.DOTALL)
    assert chosen is not None
    assert why is not None
    assert set(re.findall(r"^  (\w+):", chosen[1], re.MULTILINE)) == set(get_args(Reason))
    assert set(re.findall(r"^  (\w+):", why[1], re.MULTILINE)) == set(REASONS)


def test_every_colour_is_there() -> None:
    """A reason without a colour would be an invisible part of a bar."""
    for reason in (*REASONS, "cached", "expected"):
        assert f"--{reason}: light-dark(" in _source("style.css")
        assert f".c-{reason} " in _source("parts.css")


def test_modules_find_each_other() -> None:
    """Every import names a file of the page."""
    for name in ASSETS:
        for target in re.findall(r'from "(\.{1,2}/[^"]+)"', _source(name)) if name.endswith(".js") else ():
            folder = name.rpartition("/")[0] if target.startswith("./") else ""
            assert f"{folder}/{target.lstrip('./')}".lstrip("/") in ASSETS, (name, target)
