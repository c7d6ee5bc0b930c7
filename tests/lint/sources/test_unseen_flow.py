"""What unseen Python taught from round 6 on: each false finding as it was, and its neighbour that is true."""

import pytest

from tests.lint.sources.unseen import RULES, flows, severities

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
        code = f"import os\ndef system_prompt():\n    return f'In {{os.getcwd()}}. {tail}'\n"
        assert severities("app.py", code) == [("PC106", severity)]


def test_a_folder_ahead_of_a_conversation() -> None:
    """Who works in another folder has another conversation too; a clock there is another one in each turn."""
    call = "client.chat.completions.create(model='m', messages=[{{'role': 'system', 'content': f'{}'}}, *history])"
    for text, found in (("{os.getcwd()}", "info"), ("{time.time()}", "error")):
        code = f"import os, time\ndef ask(client, history):\n    {call.format(text)}\n"
        assert [level for _, level in severities("app.py", code)] == [found]


DRAWN = {
    "one thing": ("random.choice(TOPICS)", "info", "warning"),
    "a number": ("random.randint(1, 9)", "info", "error"),
    "picks": ("random.sample(range(90), 4)", "info", "warning"),
    "examples": ("random.sample(TOPICS, 4)", "info", "warning"),
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


CUTS = {
    "the head of a text": (
        "def show(text: str):\n    return text[-80:]\n\n",
        "{'role': 'user', 'content': show(q)}",
        0,
    ),
    "a head of known length": ("", "{'role': 'user', 'content': q}, *history[len(known):]", 0),
    "all but the last": ("", "*history[len(history) - limit:]", 1),
    "the last": ("", "*history[-limit:]", 1),
}


@pytest.mark.parametrize("name", CUTS)
def test_what_is_cut(name: str) -> None:
    """The end of a text is no window, nor is what stands behind a head of known length."""
    head, items, found = CUTS[name]
    messages = f"[{{'role': 'system', 'content': POLICY}}, {items}]"
    code = f"{head}def ask(client, q, history, known, limit):\n    messages = {messages}\n"
    code += "    client.chat.completions.create(model='m', messages=messages)\n"
    assert [kind for kind, _ in flows(code)].count("window") == found


def test_a_limit_that_nobody_gives() -> None:
    """A window that its default switches off is none where nothing else is given."""
    state = (
        "class State:\n    def __init__(self):\n        self.held = []\n\n    def last(self, limit=None):\n"
        "        if limit is None:\n            return self.held\n        return self.held[-limit:]\n\n"
    )
    ask = "class Bot:\n    def __init__(self):\n        self.state = State()\n\n    def ask(self, client, q):\n"
    for given, found in (("", 0), ("9", 1)):
        call = (
            f"        messages = [*self.state.last({given}), {{'role': 'user', 'content': q}}]\n"
            "        client.chat.completions.create(model='m', messages=messages)\n"
        )
        assert [kind for kind, _ in flows(state + ask + call)].count("window") == found


def test_a_conversation_that_is_only_returned() -> None:
    """Nobody knows whether it is sent; one that is handed to a model is."""
    body = "    messages = [{'role': 'user', 'content': 'Hi'}, *history][-5:]\n"
    for end, severity in (("return messages", "info"), ("return llm.generate(messages=messages)", "error")):
        code = f"from elsewhere import llm\ndef last(history):\n{body}    {end}\n"
        assert severities("app.py", code) == [("PC501", severity)]


@pytest.mark.parametrize(
    ("rules", "found"),
    [("{'role': 'system', 'content': system}, ", 0), ("{'role': 'system', 'content': 'Be brief.'}, ", 1), ("", 1)],
)
def test_who_says_the_rules_says_the_form(rules: str, found: int) -> None:
    """A wrapper that is given the system text is given the schema that goes with it."""
    schema = "{'type': 'json_schema', 'json_schema': {'name': 'a', 'strict': strict, 'schema': schema}}"
    code = (
        f"def ask(client, system, q, schema, strict):\n    m = [{rules}{{'role': 'user', 'content': q}}]\n"
        f"    client.chat.completions.create(model='m', messages=m, response_format={schema})\n"
    )
    assert [code for code, _ in severities("app.py", code)].count("PC602") == found


def test_a_path_is_a_place() -> None:
    """A folder of one run in the text of a prompt changes it; a function that is given it reads what is there."""
    start = "def build_prompt():\n    path = {}\n    found = {}\n    return f'{{found}} ' + POLICY\n"
    for path in ("ROOT / str(time.time())", "os.path.join('a', str(time.time()))"):
        assert flows(start.format(path, "str(path)")) == [("clock", "prompt")]
        assert flows(start.format(path, "llm.prepare(path)")) == []


def test_a_question_in_an_earlier_turn() -> None:
    """Static text in a later turn stands behind a conversation, which is another one each time."""
    call = "client.chat.completions.create(model='m', messages=[{}{{'role': 'user', 'content': {}}}])"
    turns = "{'role': 'user', 'content': question}, {'role': 'assistant', 'content': answer}, "
    for text, severity in (
        (call.format(turns, repr(RULES)), ["info"]),
        (call.format("", f"f'{{question}} {RULES}'"), ["error"]),
    ):
        code = f"def ask(client, question, answer):\n    {text}\n"
        assert [level for code, level in severities("app.py", code) if code == "PC104"] == severity


def test_another_try() -> None:
    """What is cut down after a request failed is not what the next one would have found in a cache."""
    call = "client.chat.completions.create(model='m', messages=messages)"
    code = (
        f"def ask(client, messages, at):\n    try:\n        return {call}\n    except ValueError:\n"
        f"        messages[at]['content'] = messages[at]['content'][:80]\n        return {call}\n"
    )
    assert "edited" not in dict(flows(code))
    plain = (
        f"def ask(client, messages, at):\n    messages[at]['content'] = messages[at]['content'][:80]\n    {call}\n"
    )
    assert "edited" in dict(flows(plain))


def test_what_a_message_says_once() -> None:
    """A clock in a message of a conversation is read when that is written, in system text each time."""
    head = "from elsewhere import Role\n"
    for role, found in (("ASSISTANT", False), ("SYSTEM", True)):
        spoken = f"ChatMessage(role=Role.{role}, content=f'At {{time.time()}}. ' + RULES)"
        code = (
            f"import time\nfrom llama_index.core.llms import ChatMessage\n{head}RULES = {RULES!r}\n"
            f"def ask(llm, q):\n    return llm.chat([{spoken}, ChatMessage(role=Role.USER, content=q)])\n"
        )
        assert (("PC101", "error") in severities("app.py", code)) == found


@pytest.mark.parametrize(
    ("messages", "severity"), [("messages", "info"), ("[{'role': 'user', 'content': q}]", "warning")]
)
def test_the_choice_of_a_wrapper(messages: str, severity: str) -> None:
    """Who is given the whole conversation passes a tool choice on; who writes it may well change the choice."""
    call = f"client.chat.completions.create(model='m', messages={messages}, tools=t, tool_choice=call)"
    code = f"def ask(client, messages, q, t, call):\n    return {call}\n"
    assert [level for code, level in severities("app.py", code) if code == "PC603"] == [severity]
