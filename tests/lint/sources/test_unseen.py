"""What unseen names, templates, files and logs taught from round 6 on: each false finding, and its neighbour."""

import io
import json

import pytest

from lint.documents import NotInspected
from lint.linter import lint_text
from lint.sources import jinja, prompt_text
from lint.sources.names import classify
from tests.lint.sources.unseen import RULES, severities


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        ("query", "user"),
        ("query_text", "user"),
        ("query_type", "neutral"),
        ("query_length", None),
        ("user_profile", "user"),
        ("user_language", "neutral"),
        ("customer.city", "user"),
        ("client.base_url", None),
        ("client_name", "user"),
        ("max_actions_per_step", None),
        ("current_step", "counter"),
        ("turns_left", None),
        ("turn_number", "counter"),
        ("step.name", None),
        ("step.docstring.description", "neutral"),
        ("document.title", "docs"),
        ("document_type", "neutral"),
        ("setup_context", None),
        ("context", "docs"),
        ("retrieved_context", "docs"),
        ("context.tool_name", "neutral"),
        ("agent_skills_docs", "neutral"),
        ("session_id", "id"),
        ("time_zone", None),
        ("current_time", "clock"),
        ("date_format", "neutral"),
        ("user_persona", "neutral"),
        ("_", None),
    ],
)
def test_the_last_word_counts(label: str, kind: str | None) -> None:
    """What a thing is, its last word says, or the first of a dotted name."""
    assert classify(label) == kind


CODE = "import os\n{% if context %}\nfrom app import context\n{% endif %}\n\ndef main():\n    run({{ query }})\n"


PAGE = "---\nhide:\n  - navigation\n---\n# {{ query }}\n" + RULES


@pytest.mark.parametrize("text", [CODE + "    # " + RULES, PAGE])
def test_templates_of_something_else(text: str) -> None:
    """A template that writes code or a page of a site is no prompt, unless its name says so."""
    for name, inspected in (("bot.py.j2", False), ("templates/page.j2", False), ("prompts/page.j2", True)):
        (document,) = jinja.read(name, io.BytesIO(text.encode()))
        assert isinstance(document, NotInspected) != inspected
    (document,) = jinja.read(
        "page.j2", io.BytesIO(f"You are asked: {{{{ query }}}}\n\nimport json\n{RULES}".encode())
    )
    assert not isinstance(document, NotInspected)


@pytest.mark.parametrize(
    ("head", "severity"),
    [("{{ query }}", "error"), ("{{ tone }} {{ query }}", "info"), ("{{ language }} {{ query }}", "error")],
)
def test_behind_an_unknown_variable(head: str, severity: str) -> None:
    """A question behind a variable that may well vary too is not what costs the rules."""
    assert [level for code, level in severities("p.j2", f"{head}\n{RULES}") if code != "PC102"][-1] == severity


def test_line_ends_of_one_kind() -> None:
    """A file that has CRLF throughout is the same for all; one with both kinds was edited on two systems."""
    for text, severity in (("A\r\nB\r\n", "info"), ("A\r\nB\n", None), ("\ufeffA\n", "info")):
        (document,) = prompt_text.read("prompt.txt", io.BytesIO(text.encode()))
        assert isinstance(document, prompt_text.PromptText)
        (found,) = prompt_text.WHITE_SPACE.find(document)
        assert found.severity == severity


EXAMPLES = {
    "a collection": ([{"act": "Poet", "prompt": "Be a poet. " + RULES}, {"act": "Cook", "prompt": RULES}], True),
    "an answer in it": (
        [{"messages": [{"role": "user", "content": RULES}, {"role": "assistant", "content": "!"}]}],
        True,
    ),
    "prompts": ([{"prompt": f"{name}. {RULES}"} for name in "ab"], False),
    "sent": ([{"act": name, "model": "m", "prompt": f"{name}. {RULES}"} for name in "ab"], False),
    "with answers": ([{"prompt": f"{name}. {RULES}", "response": "!"} for name in "ab"], False),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_no_traffic(name: str) -> None:
    """A collection of prompts, or of conversations to learn from, was sent to nobody."""
    entries, example = EXAMPLES[name]
    found = {finding.code for finding in lint_text("data.json", json.dumps(entries))}
    assert ("PC003" in found) == example


def test_a_folder_in_one_body() -> None:
    """Nobody knows from one request whether it is another folder next time."""
    body = {"model": "m", "messages": [{"role": "system", "content": f"Working directory: /workspace\n{RULES}"}]}
    assert severities("body.json", json.dumps(body)) == [("PC106", "info")]


def test_an_alias_is_one_text() -> None:
    """A YAML text that others refer to is reported once."""
    text = f"prompt: &p |\n  Now {{current_time}}\n  {RULES}\nb: {{prompt: *p}}\nc: {{prompt: *p}}\n"
    assert severities("p.yaml", text) == [("PC101", "error")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{% for k, v in facts.items() %}}{{{{ k }}}}{{% endfor %}}\n{}", ("PC305", "warning")),
        ("{{% for k, v in facts.items() %}}{{{{ k }}}}{{% endfor %}}\nBe brief.", ("PC305", "info")),
        ("{{{{ goal }}}}{{% for k, v in facts.items() %}}{{{{ k }}}}{{% endfor %}}\n{}", ("PC305", "info")),
        ("{{{{ goal }}}} in step {{{{ step }}}}\n{}", ("PC106", "info")),
        ("Step {{{{ step }}}}\n{}", ("PC106", "warning")),
        ("{{{{ goal }}}} at {{{{ now() }}}}\n{}", ("PC101", "error")),
        ("{{{{ prior_attempt }}}}\n{}", ("PC201", "info")),
    ],
)
def test_what_stands_before(text: str, expected: tuple[str, str]) -> None:
    """Behind a variable that may be another one in each request only what is so for sure is worth a warning."""
    assert severities("p.j2", text.format(RULES))[-1] == expected


def test_a_filter_of_the_application() -> None:
    """A template with filters and tests that Jinja does not know is followed, and its fix tried, like any other."""
    text = (
        f"You are asked {{{{ user_name | untrusted(quote=True) }}}}\n{RULES}\n{{% if x is odd_one %}}!{{% endif %}}\n"
    )
    assert ("PC104", "error") in severities("p.j2", text)


def test_ids_in_files_of_tools() -> None:
    """What stands in a file of tools is the same in each request; what was sent may not be."""
    tools = [
        {"name": "find", "description": "Writes /tmp/6f0c8f7e-1111-4aaa-8bbb-000000000001/out", "parameters": {}}
    ]
    assert severities("tools.json", json.dumps(tools)) == [("PC103", "info")]
    body = {"model": "m", "tools": tools, "messages": [{"role": "user", "content": "Hi"}]}
    assert ("PC103", "error") in severities("body.json", json.dumps(body))
