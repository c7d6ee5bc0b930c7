"""lint.traffic.mend: requests that differ in one cause are alike once it is mended, and say all they said before."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from lint.examples import HANDBOOK, QUESTIONS, chat, tool
from lint.traffic.engine import TrafficEngine
from lint.traffic.logged import Logged
from lint.traffic.mend import mend
from prefix.divergence import view_bytes
from prefix.realign import common_prefix

NAMES = ("Ada", "Grace", "Edsger", "Barbara")
TOOLS = [tool(name) for name in ("order", "refund", "parcel", "size")]
LINES = HANDBOOK.splitlines(keepends=True)
SETTINGS = [("region", "eu-west"), ("currency", "euro"), ("language", "english"), ("returns", "thirty days")]


def _turned(tool: dict[str, Any], at: int) -> dict[str, Any]:
    """The keywords of its schema the other way round, every other time."""
    function = tool["function"]
    schema = dict(list(function["parameters"].items())[:: 1 - 2 * (at % 2)])
    return {**tool, "function": {**function, "parameters": schema}}


def systems(write: Callable[[int], str]) -> list[dict[str, Any]]:
    return [chat(write(at), QUESTIONS[at]) for at in range(4)]


LOGS: dict[str, list[dict[str, Any]]] = {
    "clock": systems(lambda at: f"Now: 2026-03-01T10:{at}7:00Z\n{HANDBOOK}"),
    "clock in a line": systems(lambda at: f"Be kind. It is 2026-03-01T10:{at}7:00Z in Oslo. {HANDBOOK}"),
    "two clocks": systems(
        lambda at: f"Now: 2026-03-01T10:{at}7:00Z\n{HANDBOOK}Then: 2026-03-01T11:{at}7:00Z\n{HANDBOOK}"
    ),
    "words": systems(lambda at: f"The customer is called {NAMES[at]}.\n{HANDBOOK}"),
    "retrieved": [chat("Be brief.", f"{NAMES[at] * 40}\nAnswer by these rules:\n{HANDBOOK}") for at in range(4)],
    "prompt": [{"model": "m", "prompt": f"Question: {QUESTIONS[at]}\n{HANDBOOK}"} for at in range(4)],
    "tool order": [{**chat(HANDBOOK, QUESTIONS[at]), "tools": TOOLS[at:] + TOOLS[:at]} for at in range(4)],
    "keys": [{**chat(HANDBOOK, QUESTIONS[at]), "tools": [_turned(one, at) for one in TOOLS]} for at in range(4)],
    "json in text": systems(lambda at: f"Settings: {json.dumps(dict(SETTINGS[:: 1 - 2 * (at % 2)]))}\n{HANDBOOK}"),
    "line ends": systems(lambda at: HANDBOOK.replace("\n", ("\n", "\r\n")[at % 2])),
    "lines": systems(lambda at: "Examples:\n" + "".join(LINES[at:] + LINES[:at])),
    "model": [
        {**chat(HANDBOOK, *(f"{q} {HANDBOOK}" for q in QUESTIONS[:1])), "model": "m"},
        {**chat(HANDBOOK, *(f"{q} {HANDBOOK}" for q in QUESTIONS[:3])), "model": "n"},
    ],
}


def mended(bodies: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    engine = TrafficEngine()
    for row, body in enumerate(bodies):
        engine.add(Logged(body), row)
    (loss,) = engine.result("log").losses
    change = mend(loss)
    assert not isinstance(change, str)
    return [dict(change(body)) for body in bodies]


@pytest.mark.parametrize("name", LOGS)
def test_mended_requests_share_their_beginning(name: str) -> None:
    """More than 80 % of a prompt is shared with any other one, where it was less; and nothing is lost."""
    bodies = LOGS[name]
    for body, new in zip(bodies, mended(bodies), strict=True):
        first = view_bytes(mended(bodies)[0])
        assert common_prefix(first, view_bytes(new)) > 0.8 * len(first) - len(view_bytes(chat("", *QUESTIONS[:2])))
        assert abs(len(view_bytes(new)) - len(view_bytes(body))) < 60
    assert len({new.get("model") for new in mended(bodies)}) == 1


def test_words_stay_in_the_prompt() -> None:
    """What is moved stands at its end."""
    assert mended(LOGS["words"])[1]["messages"][-1]["content"].endswith("The customer is called Grace.\n")
    assert mended(LOGS["clock"])[3]["messages"][-1]["content"].endswith("2026-03-01T10:37:00Z")


def test_what_a_mend_meets() -> None:
    """Bodies of other shapes pass through it unharmed."""
    engine = TrafficEngine()
    for row, body in enumerate(LOGS["clock"]):
        engine.add(Logged(body), row)
    change = mend(engine.result("log").losses[0])
    assert not isinstance(change, str)
    for body in ({}, {"messages": []}, {"messages": [None]}, {"messages": [{"content": None}]}, {"prompt": ""}):
        assert change(body) == body


def test_hostile_texts_cost_bounded_time() -> None:
    """A text of brackets that begin no JSON is given up on."""
    engine = TrafficEngine()
    for row, body in enumerate(LOGS["json in text"]):
        engine.add(Logged(body), row)
    change = mend(engine.result("log").losses[0])
    assert not isinstance(change, str)
    for text in ("[" * 300_000, '{"a":' * 100_000):
        assert change(chat(text))["messages"][0]["content"] == text
