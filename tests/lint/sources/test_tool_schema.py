"""lint.sources.tool_schema: what moves in a file of tool schemas is found there."""

import json

import pytest

from lint.linter import lint_text

CLOCK = "Finds orders. Now: 2026-03-01T10:10:00Z"
FORMS = {
    "openai": {"type": "function", "function": {"name": "find", "description": CLOCK, "parameters": {}}},
    "responses": {"type": "function", "name": "find", "description": CLOCK, "parameters": {}},
    "anthropic": {"name": "find", "description": CLOCK, "input_schema": {"type": "object"}},
}


@pytest.mark.parametrize("filename", ["tools.json", "agent/my_tools.json", "functions.json", "tool_schema.json"])
@pytest.mark.parametrize("form", FORMS)
def test_tools_are_judged(form: str, filename: str) -> None:
    """A clock in a description, in each form of a tool, with its pointer in the file."""
    found = lint_text(filename, json.dumps([FORMS[form]]))
    pointer = "/0/function/description" if form == "openai" else "/0/description"
    assert {(finding.severity, finding.pointer) for finding in found} == {("error", pointer)}


def test_under_a_key() -> None:
    """Tools under the name that a request gives them."""
    found = lint_text("tools.json", json.dumps({"tools": [FORMS["anthropic"]]}))
    assert {finding.pointer for finding in found} == {"/tools/0/description"}


def test_steady_tools_are_clean() -> None:
    """Nothing is said of tools in which nothing moves."""
    assert lint_text("tools.json", json.dumps([{**FORMS["anthropic"], "description": "Finds orders."}])) == []


@pytest.mark.parametrize("text", ['{"a": 1}', "[]", "[1]", "{", '{"tools": 3}'])
def test_other_json_is_read_as_such(text: str) -> None:
    """What is no list of tools gets what any JSON file gets."""
    assert {f.code for f in lint_text("tools.json", text)} == {f.code for f in lint_text("other.json", text)}
