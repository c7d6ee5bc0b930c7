"""What unseen code taught from round 6 on: each false finding as it was, and its neighbour that is true."""

import io
import json

import pytest

from lint.documents import NotInspected
from lint.linter import lint_text
from lint.sources import jinja, prompt_text
from lint.sources.names import classify
from lint.sources.python import PythonModule, read

HEAD = """
import os, subprocess, time
from elsewhere import RunResponse, llm
POLICY = "Follow the policy. " * 400
"""
RULES = "Answer by these rules. " + "Be brief and name your source. " * 12


def flows(text: str) -> list[tuple[str, str]]:
    (module,) = read("app.py", io.BytesIO((HEAD + text).encode()))
    assert isinstance(module, PythonModule), module
    return [(flow.kind, flow.where) for flow in module.flows]


def severities(filename: str, text: str) -> list[tuple[str, str]]:
    return [(finding.code, finding.severity) for finding in lint_text(filename, text)]


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
        ("setup_context", "docs"),
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


WINDOWS = {
    "too many": ("if len(history) > 9:\n        history.pop(0)", 1),
    "while too many": ("while history:\n        if size(history) < 9:\n            break\n        history.pop(0)", 1),
    "a queue": ("while len(history) > limit:\n        history.popleft()", 1),
    "the system text": ("if history[0]['role'] == 'system':\n        system = history.pop(0)", 0),
    "once": ("first = history[0]\n    history.pop(0)", 0),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_the_first_message_taken_out(name: str) -> None:
    """While there are too many it is a window; once it is the system text, or something like it."""
    body, found = WINDOWS[name]
    code = f"def ask(client, history, limit):\n    {body}\n    client.responses.create(model='m', input=history)\n"
    assert flows(code).count(("window", "history")) == found


@pytest.mark.parametrize(
    ("model", "severity"),
    [
        ("os.getenv('MODEL')", ["info"]),
        ("os.environ['MODEL']", ["info"]),
        ("os.getenv('MODEL', None)", ["info"]),
        ("os.getenv('MODEL', 'small')", ["warning"]),
        ("os.environ.get('MODEL', default='small')", ["warning"]),
        ("'small'", []),
    ],
)
def test_models_of_the_environment(model: str, severity: list[str]) -> None:
    """One deployment has one model, unless the code has another where the deployment says nothing."""
    code = f"import os\ndef ask(client, m):\n    client.chat.completions.create(model={model}, messages=m)\n"
    assert [level for code, level in severities("app.py", code) if code == "PC601"] == severity


def test_the_class_of_an_answer() -> None:
    """What keeps messages of an answer sends them to nobody; what asks a model does."""
    body = "    kept = [{'role': 'user', 'content': 'Hi'}, *history][-5:]\n"
    assert flows(f"def f(history):\n{body}    return RunResponse(messages=kept)\n") == []
    assert flows(f"def f(history):\n{body}    return llm.response(messages=kept)\n") == [("window", "history")]


def test_little_stands_behind() -> None:
    """A line or two behind what a prompt says anew are for information, sixty tokens a warning."""
    for chars, severity in ((160, "info"), (320, "warning")):
        tail = "Write one line. " * (chars // 16)
        code = f"import os\ndef build_prompt():\n    return f'In {{os.getcwd()}}. {tail}'\n"
        assert severities("app.py", code) == [("PC106", severity)]


def test_a_folder_ahead_of_a_conversation() -> None:
    """Who works in another folder has another conversation too; a clock there is another one in each turn."""
    call = "client.chat.completions.create(model='m', messages=[{{'role': 'system', 'content': f'{}'}}, *history])"
    for text, found in (("{os.getcwd()}", "info"), ("{time.time()}", "error")):
        code = f"import os, time\ndef ask(client, history):\n    {call.format(text)}\n"
        assert [level for _, level in severities("app.py", code)] == [found]


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


DRAWN = {
    "one thing": ("random.choice(TOPICS)", "info", "warning"),
    "a number": ("random.randint(1, 9)", "info", "error"),
    "picks": ("random.sample(range(90), 4)", "info", "warning"),
    "examples": ("random.sample(TOPICS, 4)", "warning", "warning"),
    "a set of what is given": ("set(names)", "info", "error"),
    "a set of our own": ("{'tea', 'milk', *names}", "error", "error"),
    "a set of ours": ("set(TOPICS)", "error", "error"),
    "a folder": ("os.listdir('docs')", "error", "error"),
}


@pytest.mark.parametrize("name", DRAWN)
def test_what_comes_again(name: str) -> None:
    """What may be in one request alone costs no other in a prompt of its own; in system text it costs them all."""
    drawn, prompt, system = DRAWN[name]
    head = f"import os, random\nfrom elsewhere import TOPICS\nRULES = {RULES!r}\n"
    for kind, expected in (("prompt", prompt), ("system_prompt", system)):
        code = f"{head}def build_{kind}(names):\n    found = {drawn}\n    return f'Of {{found}}. ' + RULES\n"
        assert [severity for _, severity in severities("app.py", code)] == [expected], kind


def test_what_a_loop_begins_anew() -> None:
    """A text that each round writes for itself has no order; one that they all add to has."""
    for start, found in (("", []), ("text = ''\n    ", [("unordered", "prompt")])):
        begun = "" if start else "text = ''\n        "
        code = (
            f"def build_prompt(folder):\n    {start}for name in os.listdir(folder):\n        {begun}"
            "for line in open(name):\n            text += line\n    return text + POLICY\n"
        )
        assert flows(code) == found


ITEMS = {
    "of a kind": ("{**m, 'content': as_text(m['content'])} if isinstance(m['content'], list) else m", False),
    "of a role": ("{**m, 'content': as_text(m['content'])} if m.get('role') == 'user' else m", False),
    "of a role, cut": ("{**m, 'content': m['content'][:80]} if m.get('role') == 'tool' else m", True),
    "of a role, gone": ("{**m, 'content': '[gone]'} if m['role'] == 'tool' else m", True),
    "old ones": ("{**m, 'content': as_text(m['content'])} if is_old(m) else m", True),
    "before a place": ("as_text(m) if m['at'] < limit else m", True),
    "all": ("as_text(m)", False),
}


@pytest.mark.parametrize("name", ITEMS)
def test_some_items_rewritten(name: str) -> None:
    """What is done to a message for its kind is done each time; for its age it is done once it was sent."""
    item, edited = ITEMS[name]
    code = f"def ask(client, history, limit):\n    history = [{item} for m in history]\n"
    assert ("edited" in dict(flows(f"{code}    client.responses.create(model='m', input=history)\n"))) == edited


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
