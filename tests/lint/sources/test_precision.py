"""What other people's code taught in round 5: each false finding as it was, and its neighbour that is true."""

import io

import pytest

from lint.sources.python import PythonModule, read

HEAD = """
import uuid, time, random
import numpy as np
from datetime import datetime
from pydantic import Field
from langchain_core.prompts import ChatPromptTemplate, HumanMessagePromptTemplate, MessagesPlaceholder
from langchain_core.prompts import SystemMessagePromptTemplate
from elsewhere import llm, get_files, show, to_url
POLICY = "Follow the policy. " * 400
RULES = " Answer by these rules. " + "Be brief and name your source. " * 12


class Document:
    def __init__(self, text, doc_id=None):
        self.content = text
        self.id = doc_id if doc_id is not None else str(uuid.uuid4())


class Message:
    def __init__(self, role, content):
        self.role = role
        self.content = content
        self.timestamp = datetime.now()
"""
ASK = "\n    return client.responses.create(model='m', instructions=found + POLICY, input=q)\n"


def flows(text: str) -> list[tuple[str, str]]:
    (module,) = read("app.py", io.BytesIO((HEAD + text).encode()))
    assert isinstance(module, PythonModule), module
    return [(flow.kind, flow.where) for flow in module.flows if flow.kind != "user"]


OBJECTS = {
    "a loop": "found = ''\n    for d in held:\n        found += d.{}",
    "a comprehension": "found = ''.join(d.{} for d in held)",
    "twice": "kept = [d for d in held if d]\n    found = ''.join(d.{} for d in kept[:10])",
    "by number": "found = ''.join(held[at].{} for at in q)",
    "the last": "found = held[-1].{}",
    "the next": "found = next(d for d in held if d).{}",
    "numbered": "found = ''.join(d.{} for at, d in enumerate(held))",
    "in pairs": "found = ''.join(d.{} for d, score in zip(held, q))",
    "filtered": "found = ''.join(d.{} for d in filter(None, held))",
    "taken out": "found = held.pop().{}",
    "by key": "index = {{d.id: d for d in held}}\n    found = index[q].{}",
    "values": "index = {{d.id: d for d in held}}\n    found = ''.join(d.{} for d in index.values())",
    "items": "index = {{d.id: d for d in held}}\n    found = ''.join(d.{} for key, d in index.items())",
    "set by key": "index = {{}}\n    index[q] = Document(q)\n    found = index[q].{}",
    "two kinds": "more = [*held, Document(q)]\n    found = ''.join(d.{} for d in more)",
}


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_in_lists(name: str) -> None:
    """Of an object in a list only the field that is read counts, however it is taken out."""
    for field, expected in (("content", []), ("id", [("id", "system")])):
        start = "def ask(client, texts, q):\n    held = [Document(text) for text in texts]\n    "
        assert flows(start + OBJECTS[name].format(field) + ASK) == expected, field


def test_a_list_of_objects_is_given_on() -> None:
    """Nobody knows which fields another module reads; an id by itself is written by what it is given to."""
    start = "def ask(client, texts, q):\n    held = [Document(text) for text in texts]\n"
    assert flows(f"{start}    found = show(held){ASK}") == []
    assert flows(f"{start}    found = show([d.id for d in held]){ASK}") == [("id", "system")]
    assert flows(f"def ask(client, q):\n    found = get_files(str(uuid.uuid4())){ASK}") == []
    assert flows(f"def ask(client, q):\n    found = show(str(uuid.uuid4())){ASK}") == [("id", "system")]


@pytest.mark.parametrize(
    ("seed", "expected"),
    [("seed", [("shuffled", "system")]), ("", [("shuffled", "system")]), ("seed or 42", []), ("42", [])],
)
def test_generators_without_a_seed(seed: str, expected: list[tuple[str, str]]) -> None:
    """A generator whose seed is None unless someone gives it shuffles; one with a seed of its own does not."""
    text = (
        f"class A:\n    def __init__(self, seed=None):\n        self.rng = np.random.default_rng({seed})\n\n"
        "    def ask(self, client, q, docs):\n        docs = list(docs)\n        self.rng.shuffle(docs)\n"
        "        found = ''.join(docs)\n"
        "        return client.responses.create(model='m', instructions=found + POLICY, input=q)\n"
    )
    assert [flow for flow in flows(text) if flow[0] == "shuffled"] == expected


SCHEMA = "response_format={'type': 'json_schema', 'json_schema': {'name': name or 'a', 'schema': schema}}"
WRAPPERS = {
    "model and prompt": ("model", "[{'role': 'user', 'content': q}]", False),
    "the conversation": ("'m'", "messages", False),
    "a model of its own": ("'m'", "[{'role': 'user', 'content': q}]", True),
    "words of its own": ("model", "[{'role': 'system', 'content': POLICY}, {'role': 'user', 'content': q}]", True),
}


@pytest.mark.parametrize("name", WRAPPERS)
def test_the_schema_of_a_wrapper(name: str) -> None:
    """A schema is its caller's where the caller says all the rest too, and may change where the code has its own."""
    model, messages, found = WRAPPERS[name]
    call = f"client.chat.completions.create(model={model}, messages={messages}, {SCHEMA})"
    text = f"async def ask(client, model, messages, q, schema, name=None):\n    return await {call}\n"
    assert [kind for kind, _ in flows(text) if kind == "format"] == ["format"] * found


PLACES = {
    "behind a place for history": ("S('Be brief.'), MessagesPlaceholder('chat'), H('{question}' + RULES)", False),
    "context behind it": ("S('Be brief.'), MessagesPlaceholder('chat'), S('{context}' + RULES), H('{q}')", False),
    "in front of it": ("S('{question}' + RULES), MessagesPlaceholder('chat'), H('{q}')", True),
    "the only message": ("H('{question}' + RULES)", True),
    "behind fixed text": ("S('Be brief.'), H('{question}' + RULES)", True),
    "at its end": ("H(RULES + '{question}')", False),
}


@pytest.mark.parametrize("name", PLACES)
def test_behind_a_conversation(name: str) -> None:
    """A question ahead of static text costs it, unless a conversation stands in front that nobody shares."""
    messages, found = PLACES[name]
    messages = messages.replace("S(", "SystemMessagePromptTemplate.from_template(")
    messages = messages.replace("H(", "HumanMessagePromptTemplate.from_template(")
    (module,) = read(
        "app.py", io.BytesIO(f"{HEAD}\nprompt = ChatPromptTemplate.from_messages([{messages}])".encode())
    )
    assert isinstance(module, PythonModule)
    assert bool(module.flows) == found


def test_behind_a_history() -> None:
    """The same in a list of messages."""
    turn = "{'role': 'user', 'content': f'{question}' + RULES}"
    call = "client.chat.completions.create(model='m', messages=[{'role': 'system', 'content': POLICY}, "
    for front, found in (("*history, ", False), ("", True)):
        text = f"{HEAD}\ndef ask(client, history, question):\n    return {call}{front}{turn}])\n"
        (module,) = read("app.py", io.BytesIO(text.encode()))
        assert isinstance(module, PythonModule)
        assert [flow.kind for flow in module.flows] == ["user"] * found


def test_a_message_with_a_clock_beside_its_text() -> None:
    """A field of a message that is not sent costs nothing; a clock in its text does."""
    for text, expected in (("POLICY", []), ("f'{time.time()} {POLICY}'", [("clock", "system")])):
        messages = f"[Message(role='system', content={text}), Message(role='user', content=q)]"
        code = f"def ask(client, q):\n    client.chat.completions.create(model='m', messages={messages})\n"
        assert flows(code) == expected


@pytest.mark.parametrize(
    ("bounds", "expected"), [("start:end", []), (":end", [("window", "history")]), ("1:end", [("window", "history")])]
)
def test_turns_that_are_deleted(bounds: str, expected: list[tuple[str, str]]) -> None:
    """From the front they are cut; from a place that only the run knows they may be the newest, taken back."""
    code = f"def ask(client, history, start, end):\n    del history[{bounds}]\n"
    assert flows(f"{code}    client.responses.create(model='m', input=history)\n") == expected


@pytest.mark.parametrize(
    ("empty", "expected"), [("m.content != 'x'", 1), ("m.content is not None and m.text == ''", 0)]
)
def test_empty_turns_that_are_filled(empty: str, expected: int) -> None:
    """A loop that only looks for messages without text edits no history."""
    loop = f"    for m in history:\n        if {empty}:\n            m.content = '-'\n"
    code = f"def ask(client, history):\n{loop}    client.responses.create(model='m', input=history)\n"
    assert flows(code) == [("edited", "history")] * expected


def test_pictures_of_a_conversation() -> None:
    """A picture in a turn of a conversation was there before; one ahead of instructions is another each time."""
    picture = "{'type': 'image_url', 'image_url': {'url': to_url(q)}}"
    turn = f"{{'role': 'user', 'content': [{picture}, {{'type': 'text', 'text': RULES}}]}}"
    for front, found in (("{'role': 'user', 'content': q}, ", False), ("*q, ", False), ("", True)):
        call = f"client.chat.completions.create(model='m', messages=[{front}{turn}])"
        assert ("image" in dict(flows(f"def ask(client, q):\n    {call}\n"))) == found


def test_a_template_filled_from_a_mapping() -> None:
    """What a mapping of known keys puts into a template is followed as keywords are."""
    template = "ChatPromptTemplate.from_messages([('system', '{at} ' + POLICY), ('human', '{q}')])"
    for given, expected in (("time.time()", [("clock", "system")]), ("'noon'", [])):
        assert flows(f"def ask():\n    return {template}.partial(**{{'at': {given}}})\n") == expected
