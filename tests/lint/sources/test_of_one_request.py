"""What is one request's own anyway, or may be the same for long: for information, each with its true neighbour."""

import pytest

from tests.lint.sources.unseen import RULES, severities

HEAD = f"import json, os, subprocess, time, uuid\nRULES = {RULES!r}\n"
WRITTEN = {
    "a clock behind a question": ("f'{question} {time.time()} ' + RULES", "PC101", "info"),
    "a clock ahead of a question": ("f'{time.time()} {question} ' + RULES", "PC101", "error"),
    "a clock behind a setting": ("f'{persona} {time.time()} ' + RULES", "PC101", "error"),
    "a clock in a record": ("json.dumps({'url': url, 'at': time.time()}) + RULES", "PC101", "info"),
    "a clock in JSON of our own": (
        "json.dumps({'app': 'x', 'at': time.time()}, sort_keys=True) + RULES",
        "PC101",
        "error",
    ),
    "an order behind a question": ("f'{question} {os.listdir()} ' + RULES", "PC305", "info"),
    "an order ahead of a question": ("f'{os.listdir()} {question} ' + RULES", "PC305", "error"),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_stands_before_and_around(name: str) -> None:
    """Behind a question, or in a record of many, the text is another one with or without the clock."""
    text, code, severity = WRITTEN[name]
    found = severities("app.py", f"{HEAD}def system_prompt(question, persona, url):\n    return {text}\n")
    assert [level for rule, level in found if rule == code] == [severity]


@pytest.mark.parametrize(("function", "severity"), [("review_prompt", "info"), ("system_prompt", "warning")])
def test_what_one_task_is_about(function: str, severity: str) -> None:
    """The diff in the prompt of a review is the review's; in system text it is in front of everything."""
    body = (
        "    diff = subprocess.run(['git', 'diff'], capture_output=True).stdout\n    return f'Of {diff}: ' + RULES\n"
    )
    assert severities("app.py", f"{HEAD}def {function}():\n{body}") == [("PC106", severity)]


@pytest.mark.parametrize(
    ("key", "severity"), [("affinity(messages) or uuid.uuid4().hex", "info"), ("uuid.uuid4().hex", "warning")]
)
def test_a_spare_identifier(key: str, severity: str) -> None:
    """An identifier for where no other could be had says nothing of the requests that have one."""
    code = f"{HEAD}def ask(c, messages):\n    c.responses.create(model='m', input=messages, prompt_cache_key={key})\n"
    assert [level for rule, level in severities("app.py", code) if rule == "PC604"] == [severity]


@pytest.mark.parametrize(
    ("schema", "severity"), [("{'type': 'array', 'minItems': count}", "info"), ("shape", "warning")]
)
def test_a_number_in_a_schema(schema: str, severity: str) -> None:
    """A schema that the code writes is one schema, whatever number stands in it; one that is given may be any."""
    form = f"{{'type': 'json_schema', 'json_schema': {{'name': 'x', 'schema': {schema}}}}}"
    code = (
        f"def ask(c, q, count, shape):\n    c.chat.completions.create(model='m', response_format={form},\n"
        "        messages=[{'role': 'user', 'content': f'List all of {q}'}])\n"
    )
    assert [level for rule, level in severities("app.py", code) if rule == "PC602"] == [severity]


@pytest.mark.parametrize(
    ("head", "found"),
    [
        ("{{ context }}", [("PC201", "info")]),
        ("{{ retrieved_context }}", [("PC202", "error")]),
        ("{{ context }} {{ question }}", [("PC202", "error"), ("PC104", "error")]),
    ],
)
def test_a_bare_context(head: str, found: list[tuple[str, str]]) -> None:
    """What is only called context was found for a question where there is one."""
    assert severities("prompt.j2", f"{head}\n{RULES}") == found


@pytest.mark.parametrize(
    ("rules", "found"),
    [
        ("[Rule(text='be brief', tools={'a', 'b'}), Rule(text='be kind', tools={'c', 'd'})]", []),
        ("list({'be brief', 'be kind'})", [("PC305", "error")]),
    ],
)
def test_sets_inside_of_items(rules: str, found: list[tuple[str, str]]) -> None:
    """A list of objects with sets in them comes in its own order; a list made of a set does not."""
    walked = "rule.text" if "Rule" in rules else "rule"
    code = (
        f"{HEAD}def system_prompt():\n    lines = []\n    for rule in {rules}:\n        lines.append({walked})\n"
        "    return '\\n'.join(lines) + RULES\n"
    )
    assert severities("app.py", code) == found


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("state_of(uuid.uuid4().hex)", [("PC103", "info")]),
        ("aget_state(uuid.uuid4().hex)", []),
        ("render_header(uuid.uuid4().hex)", [("PC103", "error")]),
    ],
)
def test_what_an_identifier_is_for(call: str, found: list[tuple[str, str]]) -> None:
    """What a function elsewhere makes of an identifier is known of those that write text; others may look it up."""
    assert severities("app.py", f"{HEAD}def system_prompt():\n    return f'{{{call}}} ' + RULES\n") == found


@pytest.mark.parametrize(("messages", "count"), [("[SYSTEM, ASKED]", 0), ("[SYSTEM, *history, ASKED]", 1)])
def test_a_cut_of_what_is_always_the_same(messages: str, count: int) -> None:
    """A list of known messages loses none from turn to turn."""
    code = (
        f"SYSTEM = {{'role': 'system', 'content': 'x'}}\nASKED = {{'role': 'user', 'content': 'y'}}\n"
        f"def ask(c, history):\n    messages = {messages}\n"
        "    c.responses.create(model='m', input=[messages[0], *messages[1:][-4:]])\n"
    )
    assert [rule for rule, _ in severities("app.py", code)].count("PC501") == count


@pytest.mark.parametrize(("given", "found"), [("answer_schema", []), ("settings", [("PC303", "error")])])
def test_json_in_its_own_order(given: str, found: list[tuple[str, str]]) -> None:
    """A schema stands in somebody's code, key by key; other mappings come from anywhere."""
    text = f"f'{{json.dumps({given})}}' + RULES"
    code = f"{HEAD}def ask(c, {given}, m):\n    s = {{'role': 'system', 'content': {text}}}\n"
    assert severities("app.py", f"{code}    c.responses.create(model='m', input=[s, *m])\n") == found
