"""Counters: found in bad source, not in good, in any form of it. Other kinds are tested by their rules' examples."""

import io
from collections.abc import Callable

import pytest

from lint.rule import Example
from lint.sources.examples import app
from lint.sources.python import PythonModule, read
from tests.lint.sources import rewrites

COUNT = "import itertools"


def rounds(over: str, target: str, messages: str) -> Example:
    """A module that asks in a loop."""
    return Example(
        "rounds.py",
        f"POLICY = 'Follow the policy. ' * 400\n\n\ndef ask(client, qs):\n    for {target} in {over}:\n"
        f"        client.chat.completions.create(model='m', messages=[{messages}])\n",
    )


BAD = [
    Example(
        "agent.py",
        "POLICY = 'Follow the policy. ' * 400\n\n\nclass Agent:\n    turn = 0\n\n    def ask(self, client, q):\n"
        "        self.turn += 1\n        return client.responses.create(\n"
        "            instructions=f'Turn {self.turn}. {POLICY}', input=q)\n",
    ),
    app("f'Turn {next(numbers)}. {POLICY}'", imports=COUNT, setup="numbers = itertools.count()"),
    app("'Step ' + str(next(itertools.count(1))) + POLICY", imports=COUNT),
    rounds("range(1, 9)", "step", "{'role': 'system', 'content': f'Step {step + 1}. {POLICY}'}"),
    rounds("enumerate(qs)", "(at, q)", "{'role': 'system', 'content': f'Round {at}. {POLICY}'}"),
]
GOOD = [
    app("POLICY", user="f'Turn {next(numbers)}'", imports=COUNT, setup="numbers = itertools.count()"),
    app("text", setup="text = ''\nfor at, line in enumerate([POLICY, POLICY]):\n    text += f'{at}. {line}'"),
    app("POLICY * number", setup="number = 1\nnumber += 1"),
    app("text", setup="text = ''\nfor at in range(3):\n    text += f'{at}. {POLICY}'"),
    rounds("range(9)", "step", "{'role': 'system', 'content': POLICY}, {'role': 'user', 'content': f'{step}'}"),
    rounds("enumerate(qs)", "(at, q)", "{'role': 'user', 'content': f'{at}: {q}'}"),
]
REWRITES: list[Callable[[str], str]] = [
    str,
    rewrites.blackened,
    rewrites.unparsed,
    rewrites.renamed,
    rewrites.with_call_extracted,
]


def kinds(text: str) -> list[str]:
    (module,) = read("app.py", io.BytesIO(text.encode()))
    assert isinstance(module, PythonModule), module
    return [flow.kind for flow in module.flows]


@pytest.mark.parametrize("rewrite", REWRITES, ids=lambda rewrite: rewrite.__name__)
@pytest.mark.parametrize(("example", "bad"), [*((e, True) for e in BAD), *((e, False) for e in GOOD)])
def test_counters(example: Example, bad: bool, rewrite: Callable[[str], str]) -> None:
    """A bad example has one flow, a good one none, also when it is laid out, named or cut otherwise."""
    if rewrite is rewrites.with_call_extracted and example.filename != "app.py":
        rewrite = str
    assert kinds(rewrite(example.text)).count("counter") == bad
