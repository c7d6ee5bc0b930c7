"""lint.sources.python: the data flow from what changes to the call that hands over a prompt."""

import io
import textwrap

import pytest

from lint.documents import NotInspected, Unreadable
from lint.sources.python import MAX_BYTES, PythonModule, read

HEAD = """
import time, uuid, os, requests, socket
import sglang as sgl
from datetime import datetime as dt
from dataclasses import dataclass
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.prompts import ChatPromptTemplate
from llama_index.core.llms import ChatMessage
from litellm import completion
POLICY = "Follow the policy. " * 400
"""
SITES = {
    "openai chat": """
        def ask(client, q):
            messages = [{"role": "system", "content": f"{time.time()}{POLICY}"}, {"role": "user", "content": q}]
            return client.chat.completions.create(model="m", messages=messages)
    """,
    "openai responses": """
        def ask(client, q):
            return client.responses.create(model="m", instructions=f"{time.time()}{POLICY}", input=q)
    """,
    "openai completions": """
        def ask(client, q):
            return client.completions.create(model="m", prompt=f"{time.time()}{POLICY}{q}")
    """,
    "anthropic": """
        def ask(client, q):
            blocks = [{"type": "text", "text": f"{time.time()}{POLICY}"}]
            return client.messages.create(model="m", system=blocks, messages=[{"role": "user", "content": q}])
    """,
    "litellm": """
        def ask(q):
            return completion("m", [{"role": "system", "content": f"{time.time()}{POLICY}"}])
    """,
    "langchain": """
        def ask(llm, q):
            return llm.invoke([SystemMessage(content=f"{time.time()}{POLICY}"), HumanMessage(content=q)])
    """,
    "langchain template": """
        prompt = ChatPromptTemplate.from_messages([("system", "At {timestamp}. " + POLICY), ("human", "{q}")])
    """,
    "llamaindex": """
        def ask(llm, q):
            system = ChatMessage(role="system", content=f"{time.time()}{POLICY}")
            return llm.chat([system, ChatMessage(role="user", content=q)])
    """,
    "sglang": """
        @sgl.function
        def ask(s, q):
            s += sgl.system(f"{time.time()}{POLICY}")
            s += sgl.user(q)
    """,
    "http": """
        def ask(q):
            body = {"model": "m", "messages": [{"role": "system", "content": f"{time.time()}{POLICY}"}]}
            return requests.post("http://engine/v1/chat/completions", json=body)
    """,
    "keyword arguments": """
        def ask(client, q):
            arguments = {"model": "m"}
            arguments["messages"] = [{"role": "system", "content": f"{time.time()}{POLICY}"}]
            return client.chat.completions.create(**arguments)
    """,
}
PATHS = {
    "format": "'{} {}'.format(time.time(), POLICY)",
    "named format": "'{at} {rest}'.format(at=time.time(), rest=POLICY)",
    "percent": "'%s %s' % (time.time(), POLICY)",
    "join": "' '.join([str(time.time()), POLICY])",
    "replace": "('NOW ' + POLICY).replace('NOW', str(time.time()))",
    "condition": "(str(time.time()) if q else '') + POLICY",
    "walrus": "(at := str(time.time())) + POLICY",
    "comprehension": "' '.join(f'{time.time()}{line}' for line in [POLICY, POLICY])",
    "method of the value": "dt.now().isoformat().upper().strip() + POLICY",
    "mapping": "{'a': str(time.time())}['a'] + POLICY",
}


def flows(text: str) -> list[tuple[str, str]]:
    found = list(read("app.py", io.BytesIO(text.encode())))
    assert isinstance(found[0], PythonModule), found
    return [(flow.kind, flow.where) for flow in found[0].flows]


@pytest.mark.parametrize("name", SITES)
def test_call_sites(name: str) -> None:
    """A clock is found at each kind of call site."""
    assert [kind for kind, _ in flows(HEAD + textwrap.dedent(SITES[name]))] == ["clock"]


@pytest.mark.parametrize("name", PATHS)
def test_paths(name: str) -> None:
    """A clock is followed through each way of building text, and its place is that of the clock."""
    text = f"{HEAD}\ndef ask(client, q):\n    return client.responses.create(instructions={PATHS[name]}, input=q)\n"
    found = list(read("app.py", io.BytesIO(text.encode())))
    assert isinstance(found[0], PythonModule)
    (flow,) = found[0].flows
    line = text.split("\n")[flow.row - 1][flow.column - 1 :]
    assert line.startswith(("time.time()", "dt.now()"))
    assert flow.tokens >= 1900


def test_objects_are_followed() -> None:
    """Methods and fields of the same class: the clock of one method, the history of a field."""
    found = flows(
        HEAD
        + textwrap.dedent("""
        class Agent:
            def __init__(self, client):
                self.client = client
                self.history = []

            def _now(self):
                return dt.now().isoformat()

            def _system(self):
                return f"Time {self._now()} {POLICY}"

            def ask(self, q):
                self.history.append({"role": "user", "content": q})
                messages = [{"role": "system", "content": self._system()}, *self.history[-10:]]
                return self.client.chat.completions.create(model="m", messages=messages)
        """)
    )
    assert found == [("clock", "system"), ("window", "history")]


def test_position_decides() -> None:
    """The same clock counts in an earlier turn, and not in the last one, also when the answer is begun."""
    turn = '{{"role": "{}", "content": {}}}'
    clock, fixed = "str(time.time())", "POLICY"
    for roles, expected in (
        ((("system", fixed), ("user", clock)), []),
        ((("system", fixed), ("user", clock), ("assistant", "'Well, '")), []),
        ((("system", fixed), ("user", clock), ("assistant", fixed), ("user", "q")), [("clock", "turn")]),
    ):
        messages = ", ".join(turn.format(role, content) for role, content in roles)
        text = f"{HEAD}\ndef ask(client, q):\n    client.chat.completions.create(model='m', messages=[{messages}])\n"
        assert flows(text) == expected


def test_a_nested_function_that_calls_its_owner() -> None:
    """A function that makes a function that calls the first one again is followed once, and to its end."""
    inner = "    def inner():\n        return outer(client)\n"
    call = "    return client.completions.create(prompt=f'{time.time()}{POLICY}')\n"
    assert flows(f"{HEAD}\ndef outer(client):\n{inner}{call}") == [("clock", "prompt")]


UNREAD = {
    "syntax": "x = 1\ndef f(:\n",
    "zero byte": "a\0b",
    "brackets": "(" * 5000 + ")" * 5000,
    "operators": "x = " + " + ".join(["a"] * 20_000),
    "attributes": "x = a" + ".b" * 5000,
    "branches": "def f(client, q):\n if q: pass\n"
    + " elif q: pass\n" * 3000
    + " client.completions.create(prompt=q)\n",
    "calls": "".join(f"def f{i}(client):\n" + f" f{i + 1}(client)\n" * 40 for i in range(8))
    + "def f8(client):\n client.completions.create(prompt='')\n",
    "size": "x = 1\n" * (MAX_BYTES // 6 + 1),
}


@pytest.mark.parametrize("name", UNREAD)
def test_hostile_files_are_reported(name: str) -> None:
    """What cannot be parsed or followed is said, once, and costs no traceback."""
    (found,) = read("app.py", io.BytesIO(UNREAD[name].encode()))
    assert isinstance(found, (Unreadable, NotInspected))


def test_a_syntax_error_has_its_place() -> None:
    """Row and column of what does not parse."""
    (found,) = read("app.py", io.BytesIO(UNREAD["syntax"].encode()))
    assert isinstance(found, Unreadable)
    assert found.location is not None
    assert (found.location.row, found.location.column) == (2, 7)


def test_text_that_doubles_stays_small() -> None:
    """Two hundred doublings of a string cost no memory, and the clock in it is still found."""
    text = "import time\ndef f(client):\n s = str(time.time()) + 'static text'\n" + " s = s + s\n" * 200
    assert flows(text + " client.completions.create(prompt=s)\n") == [("clock", "prompt")]


def test_declared_encodings_are_read() -> None:
    """A file says its own encoding; one that is no text in it is unreadable."""
    (found,) = read("app.py", io.BytesIO("# coding: latin-1\nx = 'é'\n".encode("latin-1")))
    assert isinstance(found, PythonModule)
    (found,) = read("app.py", io.BytesIO(b"x = '\xff'\n"))
    assert isinstance(found, Unreadable)


def test_nothing_is_run() -> None:
    """A module that would end the process when run is only read."""
    assert flows("raise SystemExit(3)\n") == []


def test_helpers_change_in_place() -> None:
    """What a helper does to a list that it was given counts for its caller; what it binds anew does not."""
    call = "\ndef ask(client, history):\n    helper(history)\n    client.responses.create(model='m', input=history)\n"
    edit = "\ndef helper(items):\n    for item in items[:-4]:\n        item['content'] = ''\n"
    rebind = "\ndef helper(items):\n    items = items[-6:]\n    print(items)\n"
    assert flows(edit + call) == [("edited", "history")]
    assert flows(rebind + call) == []


def test_a_signed_url_of_an_image() -> None:
    """The address of an image is followed into its block, also in the last turn."""
    image = '{"type": "image_url", "image_url": {"url": s3.generate_presigned_url("get", Params=key)}}'
    parts = f'[{image}, {{"type": "text", "text": q}}]'
    text = (
        f"def ask(client, s3, key, q):\n    client.responses.create(input=[{{'role': 'user', 'content': {parts}}}])\n"
    )
    assert flows(text) == [("signed", "last")]


def test_the_newest_turns_may_be_edited() -> None:
    """A loop over the tail of the conversation rewrites nothing that an engine holds."""
    loop = "    for m in history[last + 1:]:\n        m['content'] = m['content'].strip()\n"
    call = "    client.responses.create(model='m', input=history)\n"
    assert flows(f"def ask(client, history, last):\n{loop}{call}") == []
