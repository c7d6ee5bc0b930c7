"""lint.traffic.linking: what traffic shows is linked to the line of source that makes it, and said once."""

import json
from pathlib import Path
from typing import Any

import pytest

from lint.examples import HANDBOOK, QUESTIONS, chat, tool
from lint.linter import Report, lint_paths
from lint.registry import rules
from lint.report import TEXT_FORMATS

NAMES = ("Ada", "Grace", "Edsger", "Barbara")
CALL = "client.chat.completions.create(model='m', messages=[{'role': 'system', 'content': system}, q], tools=TOOLS)\n"
RULES = f"RULES = {HANDBOOK!r}\nTOOLS = []\n"


def app(*lines: str, imports: str = "") -> str:
    body = "".join(f"    {line}\n" for line in (*lines, f"return {CALL}"))
    return f"{imports}\n{RULES}\ndef ask(client, q, user, docs):\n{body}"


def asked(*systems: str) -> list[dict[str, Any]]:
    return [chat(system, QUESTIONS[at % 4]) for at, system in enumerate(systems)]


CLOCKS = asked(*(f"Current time: 2026-03-01T10:{at}:00Z\n{HANDBOOK}" for at in range(10, 18)))
USERS = asked(*(f"You help {name} today.\n{HANDBOOK}" for name in NAMES))
TOOLS = [tool(name) for name in ("order", "refund", "parcel", "size")]
SHUFFLED = [{**chat(HANDBOOK, QUESTIONS[at]), "tools": TOOLS[at:] + TOOLS[:at]} for at in range(4)]
CASES: dict[str, tuple[str, str, list[dict[str, Any]], str, int]] = {
    "f-string": (
        "app.py",
        app("system = f'Current time: {datetime.now():%FT%TZ}\\n{RULES}'", imports="from datetime import datetime"),
        CLOCKS,
        "PC101",
        6,
    ),
    "through a variable": (
        "app.py",
        app(
            "stamp = time.strftime('%FT%TZ')",
            "system = 'Current time: ' + stamp + '\\n' + RULES",
            imports="import time",
        ),
        CLOCKS,
        "PC101",
        6,
    ),
    "format": ("app.py", app("system = 'You help {} today.\\n'.format(user.name) + RULES"), USERS, "PC104", 6),
    "jinja": ("prompt.j2", f"Current time: {{{{ now() }}}}\n{HANDBOOK}", CLOCKS, "PC101", 1),
    "jinja variable": ("prompt.j2", f"Be kind.\nYou help {{{{ region }}}} today.\n{HANDBOOK}", USERS, "PC104", 2),
    "yaml": (
        "prompt.yaml",
        "system: |\n  You help {customer} today.\n" + "".join(f"  {line}\n" for line in HANDBOOK.splitlines()),
        USERS,
        "PC104",
        2,
    ),
    "shuffled tools": (
        "app.py",
        app("system = RULES", "random.shuffle(TOOLS)", imports="import random"),
        SHUFFLED,
        "PC401",
        7,
    ),
}


def run(tmp_path: Path, name: str, source: str, log: list[dict[str, Any]]) -> Report:
    (tmp_path / name).write_text(source)
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(body) + "\n" for body in log))
    return lint_paths([str(tmp_path / "log.jsonl"), str(tmp_path / name)], rules().values())


@pytest.mark.parametrize("case", CASES)
def test_the_line_that_makes_it(tmp_path: Path, case: str) -> None:
    """One finding for the cause, from the log, with the place in the source, whichever is given first."""
    name, source, log, code, row = CASES[case]
    report = run(tmp_path, name, source, log)
    (found,) = [finding for finding in report.findings if finding.filename.endswith("log.jsonl")]
    assert found.code.startswith(code)
    (made,) = found.related
    assert (Path(made.filename).name, made.location.row) == (name, row)
    assert [finding for finding in report.findings if finding.location == made.location] == []


def test_another_application(tmp_path: Path) -> None:
    """Source that has nothing of the prompt in it is not accused."""
    source = app(
        "system = f'It is {datetime.now()}, dear colleague. {RULES[:5]}'", imports="from datetime import datetime"
    )
    other = source.replace(repr(HANDBOOK), repr("Water the plants on the stairs. " * 30))
    (found,) = [f for f in run(tmp_path, "x.py", other, USERS).findings if f.filename.endswith("log.jsonl")]
    assert found.related == ()


def test_two_that_could_be_meant(tmp_path: Path) -> None:
    """An order without text around it is linked when one place can have made it, not when two can."""
    source = app("system = RULES", "random.shuffle(TOOLS)", imports="import random")
    two = source + source.replace("def ask", "def ask_again").replace("import random", "")
    (found,) = [f for f in run(tmp_path, "app.py", two, SHUFFLED).findings if f.filename.endswith("log.jsonl")]
    assert found.related == ()


def test_how_it_is_reported(tmp_path: Path) -> None:
    """In JSON and SARIF as a related place."""
    name, source, log, _, row = CASES["f-string"]
    report = run(tmp_path, name, source, log)
    (clock,) = [one for one in json.loads(TEXT_FORMATS["json"](report)) if one["related"]]
    assert clock["related"][0]["location"]["row"] == row
    (result,) = [
        one for one in json.loads(TEXT_FORMATS["sarif"](report))["runs"][0]["results"] if "relatedLocations" in one
    ]
    assert result["relatedLocations"][0]["physicalLocation"]["region"]["startLine"] == row
