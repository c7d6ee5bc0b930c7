"""Kinds of flows whose rules are judged in traffic too: each found in bad source, not in good, in any form of it."""

import io
from collections.abc import Callable

import pytest

from lint.rule import Example
from lint.sources.examples import app, turns
from lint.sources.python import PythonModule, read
from tests.lint.sources import rewrites

PLAIN = "class Shop:\n    def __init__(self, name):\n        self.name = name"
NAMED = PLAIN + "\n\n    def __str__(self):\n        return self.name"
DATA = "from dataclasses import dataclass\n\n@dataclass\nclass Shop:\n    name: str"
JSON = "import json"
TIME = "import time, uuid, os"
COUNT = "import itertools"
IMAGE = "{'type': 'image_url', 'image_url': {'url': user}}"
TEXT = "{'type': 'text', 'text': POLICY}"
TOOL = "tools=[{{'type': 'function', 'function': {{'name': 'f', 'description': {}}}}}],"
NOTE = "{'role': 'system', 'content': 'Brief.'}"


def claude(system: str, tools: str = "[]", messages: str = "[{'role': 'user', 'content': q}]") -> Example:
    """A call of Anthropic's API."""
    return Example(
        "app.py",
        f"import anthropic\nPOLICY = 'Follow the policy. ' * 400\nMARK = {{'type': 'ephemeral'}}\n\n\n"
        f"def ask(client, q, user=None):\n    return client.messages.create(\n        model='m', system={system}, "
        f"tools={tools},\n        messages={messages},\n    )\n",
    )


def block(text: str, marks: int = 1) -> str:
    """System text in blocks, each with a marker."""
    one = f"{{'type': 'text', 'text': {text}, 'cache_control': MARK}}"
    return "[" + ", ".join([one] * marks) + "]"


BAD: dict[str, list[Example]] = {
    "address": [
        app("f'Shop: {shop}. {POLICY}'", imports=PLAIN, setup="shop = Shop('a')"),
        app("'Shop: ' + str(Shop(user)) + POLICY", imports=PLAIN),
        app("'Call {}. {}'.format(helper, POLICY)", imports="def helper(x):\n    return x"),
        app("f'{repr(lambda x: x)} {POLICY}'"),
    ],
    "json_format": [
        app("json.dumps({'a': 1}, indent=user) + POLICY", imports=JSON),
        app("json.dumps({'a': 1}, indent=2 if q else None) + POLICY", imports=JSON),
        app("POLICY + json.dumps({'a': 1}, ensure_ascii=user, sort_keys=True)", imports=JSON),
    ],
    "bypass": [
        app("POLICY", more="prompt_logprobs=1,"),
        app("POLICY", more="extra_body={'prompt_logprobs': 5},"),
        app("POLICY", more="extra_body={'cache_prompt': False},"),
        app("POLICY", more="echo=True, logprobs=1,"),
    ],
    "cache_key": [
        app("POLICY", more="prompt_cache_key=str(uuid.uuid4()),", imports=TIME),
        app("POLICY", more="extra_body={'cache_salt': uuid.uuid4().hex},", imports=TIME),
        app("POLICY", more="prompt_cache_key=key,", imports=TIME, setup="key = f'shop-{time.time()}'"),
    ],
    "image": [
        app("'Be brief.'", user=f"[{IMAGE}, {TEXT}]"),
        app("'Be brief.'", user="parts", setup=f"parts = [{IMAGE}]\nparts.append({TEXT})"),
        app("'Be brief.'", user=f"[{{'type': 'image', 'source': {{'data': user}}}}] + [{TEXT}]"),
    ],
    "moving": [
        turns("messages", setup=f"messages = list(history)\nmessages.insert(-1, {NOTE})"),
        turns("messages", setup=f"messages = [SYSTEM, *history]\nmessages.insert(len(messages) - 1, {NOTE})"),
        turns("messages", setup=f"messages = history[:]\nnote = {NOTE}\nmessages.insert(-2, note)"),
    ],
    "no_breakpoint": [
        claude("POLICY"),
        claude("[{'type': 'text', 'text': POLICY}]"),
        claude("'Be brief.'", tools="[{'name': 'f', 'description': POLICY, 'input_schema': {}}]"),
    ],
    "breakpoint_limit": [
        claude(block("POLICY", 5)),
        claude(block("POLICY", 4), tools="[{'name': 'f', 'cache_control': MARK}]"),
        claude(block("POLICY", 3), messages=f"[{{'role': 'user', 'content': {block('q', 2)}}}]"),
    ],
    "clock": [
        app("POLICY", more=TOOL.format("f'Now {time.time()}'"), imports=TIME),
        app("POLICY", more="tools=[tool],", imports=TIME, setup="tool = {'description': 'At ' + time.ctime()}"),
        app("POLICY", more="tools=[make(str(time.time()))],", imports=TIME + "\ndef make(d):\n    return {'d': d}"),
    ],
    "counter": [
        Example(
            "agent.py",
            "POLICY = 'Follow the policy. ' * 400\n\n\nclass Agent:\n    turn = 0\n\n    def ask(self, client, q):\n"
            "        self.turn += 1\n        return client.responses.create(\n"
            "            instructions=f'Turn {self.turn}. {POLICY}', input=q)\n",
        ),
        app("f'Turn {next(numbers)}. {POLICY}'", imports=COUNT, setup="numbers = itertools.count()"),
        app("'Step ' + str(next(itertools.count(1))) + POLICY", imports=COUNT),
    ],
}
GOOD: dict[str, list[Example]] = {
    "address": [
        app("f'Shop: {shop}. {POLICY}'", imports=NAMED, setup="shop = Shop('a')"),
        app("f'Shop: {shop}. {POLICY}'", imports=DATA, setup="shop = Shop(name='a')"),
        app("f'Shop: {shop.name}. {POLICY}'", imports=PLAIN, setup="shop = Shop('a')"),
        app("f'{helper(q)} {POLICY}'", imports="def helper(x):\n    return 'Be brief.'"),
    ],
    "json_format": [
        app("json.dumps({'a': 1}, indent=2) + POLICY", imports=JSON),
        app("json.dumps({'a': 1}, separators=(',', ':')) + POLICY", imports=JSON),
        app("POLICY", user="json.dumps({'a': 1}, indent=user)", imports=JSON),
    ],
    "bypass": [
        app("POLICY", more="prompt_logprobs=None,"),
        app("POLICY", more="logprobs=True,"),
        app("POLICY", more="extra_body={'cache_prompt': True},"),
    ],
    "cache_key": [
        app("POLICY", more="prompt_cache_key='shop',"),
        app("POLICY", more="prompt_cache_key=f'shop-{user}',"),
        app("POLICY", more="extra_body={'request_id': str(uuid.uuid4())},", imports=TIME),
    ],
    "image": [
        app("POLICY", user=f"[{IMAGE}]"),
        app("'Be brief.'", user=f"[{TEXT}, {IMAGE}]"),
        app("'Be brief.'", user="[{'type': 'image_url', 'image_url': {'url': 'https://a/b.png'}}, " + TEXT + "]"),
    ],
    "moving": [
        turns("messages", setup="messages = [SYSTEM, *history]\nmessages.append({'role': 'user', 'content': q})"),
        turns("messages", setup="messages = list(history)\nmessages.insert(0, SYSTEM)"),
        turns("history", setup="seen = []\nseen.insert(-1, {'role': 'user', 'content': q})"),
    ],
    "no_breakpoint": [
        claude(block("POLICY")),
        claude("'Be brief.'"),
        claude("user"),
        claude("POLICY", messages="[{'role': 'user', 'content': " + block("q") + "}]"),
    ],
    "breakpoint_limit": [
        claude(block("POLICY", 4)),
        claude(block("POLICY", 3), tools="[{'name': 'f', 'cache_control': MARK}]"),
        claude("POLICY"),
    ],
    "clock": [
        app("POLICY", more=TOOL.format("'Says what time it is.'"), imports=TIME),
        app("POLICY", more="tools=[tool],", imports=TIME, setup="tool = {'description': 'f'}\nstarted = time.time()"),
        app("POLICY", more="timeout=time.time() + 5,", imports=TIME),
    ],
    "counter": [
        app("POLICY", user="f'Turn {next(numbers)}'", imports=COUNT, setup="numbers = itertools.count()"),
        app("text", setup="text = ''\nfor at, line in enumerate([POLICY, POLICY]):\n    text += f'{at}. {line}'"),
        app("POLICY * number", setup="number = 1\nnumber += 1"),
    ],
}
REWRITES: list[Callable[[str], str]] = [
    str,
    rewrites.blackened,
    rewrites.unparsed,
    rewrites.renamed,
    rewrites.with_call_extracted,
]
CASES = [(kind, example, True) for kind, examples in BAD.items() for example in examples]
CASES += [(kind, example, False) for kind, examples in GOOD.items() for example in examples]


def kinds(text: str) -> list[str]:
    (module,) = read("app.py", io.BytesIO(text.encode()))
    assert isinstance(module, PythonModule), module
    return [flow.kind for flow in module.flows]


@pytest.mark.parametrize("rewrite", REWRITES, ids=lambda rewrite: rewrite.__name__)
@pytest.mark.parametrize(("kind", "example", "bad"), CASES, ids=lambda value: value if isinstance(value, str) else "")
def test_kinds(kind: str, example: Example, bad: bool, rewrite: Callable[[str], str]) -> None:
    """A bad example has one flow of its kind, a good one none, also when it is laid out, named or cut otherwise."""
    if rewrite is rewrites.with_call_extracted and example.filename == "agent.py":
        rewrite = str
    assert kinds(rewrite(example.text)).count(kind) == bad


def test_every_kind_has_examples() -> None:
    """At least three of each."""
    assert set(BAD) == set(GOOD)
    assert all(len(examples) >= 3 for examples in (*BAD.values(), *GOOD.values()))
