"""lint.sources.python.guesses: prompts that go to wrappers of other modules; and what other people's code taught."""

import io
import textwrap

import pytest

from lint.sources.python import PythonModule, read
from lint.sources.python.guesses import kind_of_name

HEAD = """
import datetime, json, os, random, time
from agents import Agent, RunContext, agent, ask_llm, llm, render, store
POLICY = "Follow the policy. " * 400
"""
FOUND = {
    "a constant": ("PROMPT = f'{datetime.date.today()} ' + 'Be brief. ' * 20", [("date", "prompt")]),
    "a clock at import": ("SYSTEM_PROMPT = f'{time.time()} ' + 'Be brief. ' * 20", [("replica", "system")]),
    "a field": ("def f(bot):\n    bot.system_message = f'{time.time()} {POLICY}'", [("clock", "system")]),
    "what is added": (
        "def f(x):\n    instructions = f'{time.time()}'\n    instructions += POLICY\n    return x(instructions)",
        [("clock", "system")],
    ),
    "a keyword": (
        "def f():\n    return Agent(name='a', instructions=f'{time.time()} {POLICY}')",
        [("clock", "system")],
    ),
    "a function": ("def build_prompt():\n    return f'{time.time()} {POLICY}'", [("clock", "prompt")]),
    "a method": (
        (
            "class A:\n    def system_prompt(self):\n        return f'{self.now()} {POLICY}'\n"
            "    def now(self):\n        return time.time()"
        ),
        [("clock", "system")],
    ),
    "a decorator": ("@agent.instructions\ndef now():\n    return f'{time.time()} {POLICY}'", [("clock", "system")]),
    "a decorator with arguments": (
        "@agent.system_prompt(dynamic=True)\nasync def now(ctx: RunContext):\n    return f'{time.time()} {POLICY}'",
        [("clock", "system")],
    ),
    "messages": (
        (
            "def f(q):\n    return ask_llm([{'role': 'system', 'content': f'{time.time()} {POLICY}'},"
            " {'role': 'user', 'content': q}])"
        ),
        [("clock", "system")],
    ),
    "messages by keyword": (
        (
            "def f(q, history):\n    m = [{'role': 'system', 'content': f'Be brief. {time.time()}'}, *history]\n"
            "    return llm.create_completion(model='m', messages=m)"
        ),
        [("clock", "system")],
    ),
    "copied messages": (
        (
            "def f(q, history):\n    m = [{'role': 'system', 'content': f'Be brief. {time.time()}'}]\n"
            "    for old in history:\n        m.append({'role': old['role'], 'content': old['content']})\n"
            "    return llm.chat_completion(m)"
        ),
        [("clock", "system")],
    ),
    "returned messages": (
        "def build(q):\n    return [{'role': 'system', 'content': f'{time.time()} {POLICY}'}]",
        [("clock", "system")],
    ),
    "an order collected in a loop": (
        (
            "def build_prompt(names):\n    text = ''\n    for name in set(names):\n        text += name\n"
            "    return text + POLICY"
        ),
        [("unordered", "prompt")],
    ),
}
SILENT = {
    "no static text behind": "def f(bot):\n    bot.system_prompt = f'{POLICY} {time.time()}'",
    "the newest turn": "def f(q):\n    return ask_llm([{'role': 'user', 'content': f'{POLICY} {q} {time.time()}'}])",
    "behind what varies": (
        "def f(q):\n    return ask_llm([{'role': 'user', 'content': f'{q} {time.time()} {POLICY}'}])"
    ),
    "another name": "def f():\n    header = f'{time.time()} {POLICY}'\n    return header",
    "a log": "def f(log):\n    log.info([{'role': 'system', 'content': 'Be brief.'}, time.time()])",
    "a parameter": "def build_prompt(topic):\n    return f'{topic} {POLICY}'",
    "a measure of a set": "def build_prompt(names):\n    return f'{len(set(names))} {POLICY}'",
    "one element of a set": (
        "def build_prompt(name):\n    return f'{name} {POLICY}'\n\n"
        "def all(names):\n    for name in set(names):\n        render(build_prompt(name))"
    ),
    "a sorted set": "def build_prompt(x):\n    y = list(set(x))\n    y.sort()\n    return str(y) + POLICY",
    "a file below the working directory": (
        "def build_prompt():\n    with open(os.getcwd() + '/rules') as file:\n        rules = json.load(file)\n"
        "    return f'{rules} {POLICY}'"
    ),
    "a folder that an object was made in": (
        "class A:\n    def __init__(self):\n        self.root = os.getcwd()\n\n"
        "    def system_prompt(self):\n        return f'{self.root} {POLICY}'"
    ),
    "an object that was made of a clock": (
        "def build_prompt():\n    memory = store.Memory(started=time.time())\n    return f'{memory.text()} {POLICY}'"
    ),
    "a flag left at its default": (
        "def shots(pick=False):\n    return random.choice(ALL) if pick else 'Q: A:'\n\n"
        "def build_prompt():\n    return shots() + POLICY"
    ),
    "the end of a list for people": (
        "def f(history):\n    return review([{'role': 'user', 'content': h} for h in history][-5:])"
    ),
}


def flows(text: str) -> list[tuple[str, str]]:
    (module,) = read("app.py", io.BytesIO((HEAD + text + "\n").encode()))
    assert isinstance(module, PythonModule), module
    return [(flow.kind, flow.where) for flow in module.flows]


@pytest.mark.parametrize("name", FOUND)
def test_found(name: str) -> None:
    """What changes in a prompt is found, wherever the prompt goes."""
    text, expected = FOUND[name]
    assert flows(text) == expected


@pytest.mark.parametrize("name", SILENT)
def test_silent(name: str) -> None:
    """What costs nothing, or is no text of the prompt, is not reported."""
    assert flows(SILENT[name]) == []


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("system_prompt", "system"),
        ("SYSTEM_MESSAGE", "system"),
        ("custom_instructions", "system"),
        ("sysPrompt", "system"),
        ("FACT_RETRIEVAL_PROMPT", "prompt"),
        ("prompt_template", "prompt"),
        ("prompt_tokens", ""),
        ("file_system", ""),
        ("message", ""),
        ("", ""),
    ],
)
def test_names(name: str, kind: str) -> None:
    """Which names say that a text is a prompt."""
    assert kind_of_name(name) == kind


EDITS = {
    "old ones": ("for m in history[:-4]:\n    m['content'] = tidy(m['content'])", True),
    "by place": ("for i, m in enumerate(history):\n    if i < 4:\n        m['content'] = tidy(m['content'])", True),
    "by fixed text": ("for m in history:\n    if m['role'] == 'tool':\n        m['content'] = '[gone]'", True),
    "cut": ("for m in history:\n    m['content'] = m['content'][:80]", True),
    "by what shortens": ("for m in history:\n    m['content'] = summarize(m['content'])", True),
    "all alike": ("for m in history:\n    m['content'] = m['content'].strip()", False),
    "gaps": ("for m in history:\n    if m['content'].strip() == '':\n        m['content'] = '(nothing)'", False),
    "a list to fill": ("for m in history:\n    if 'content' not in m:\n        m['content'] = []", False),
    "the role": ("for m in history:\n    m['role'] = 'user'", False),
    "a marker": ("for i, m in enumerate(history):\n    if i == 4:\n        m['cache_control'] = MARK", False),
}


@pytest.mark.parametrize("name", EDITS)
def test_edits(name: str) -> None:
    """Old turns are edited when the code tells them from new ones or cuts them down, not when it treats all alike."""
    loop, edited = EDITS[name]
    body = textwrap.indent(f"{loop}\nreturn client.responses.create(model='m', input=history)", "    ")
    assert flows(f"def ask(client, history):\n{body}") == ([("edited", "history")] if edited else [])


def test_what_a_wrapper_passes_on() -> None:
    """A parameter that only goes through under its own name is the caller's; the choice of the only tool is none."""
    call = "client.chat.completions.create(model=model, messages=m, tools={}, tool_choice={})"
    for tools, choice, kinds in (
        ("tools", "tool_choice", []),
        ("[{'type': 'function', 'function': {'name': kind}}]", "{'function': {'name': kind}}", []),
        ("tools", "kind", ["choice"]),
    ):
        text = f"def ask(client, model, m, tools, tool_choice, kind):\n    return {call.format(tools, choice)}"
        assert [kind for kind, _ in flows(text)] == kinds
